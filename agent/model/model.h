// A model to train, layer by layer, so that each gradient is announced when it is final.
//
// All parameters lie in one flat vector of float32, in forward order of the layers, so that a run of consecutive layers
// is one range. Tied weights lie with the layer whose gradient becomes final last in backward.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"

namespace weft {

// A tensor inside its layer's range, row-major; `first` counts floats of the flat vector. The name is unique in the
// model and is the one in model.safetensors ("conv1.weight").
//
// Running statistics of normalization layers are parameters too, so that evaluation needs the flat weights alone. Their
// "gradient" is the statistic minus the batch's, and their local step is w <- w - kStatisticRate * gradient whatever
// the optimizer: no learning rate, momentum or decay. Averaging gradients or weights over workers then averages them
// too.
struct Parameter {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t first = 0;
  bool running_statistic = false;

  std::int64_t count() const {
    std::int64_t product = 1;
    for (const std::int64_t d : shape) product *= d;
    return product;
  }
};

inline constexpr float kStatisticRate = 0.1F;

struct Layer {
  std::string name;
  std::int64_t first = 0;  // floats
  std::int64_t count = 0;  // 0: no parameters
  std::vector<Parameter> parameters;
};

// `inputs` is [size, sample floats] row-major; for text models `tokens` is [size, length + 1] and the model predicts
// tokens[:, 1:] from tokens[:, :-1]. Size 0 is allowed.
struct Batch {
  std::int64_t size = 0;
  std::span<const float> inputs;
  std::span<const std::int32_t> labels;
  std::span<const std::uint8_t> tokens;
};

struct BatchResult {
  double loss_sum = 0;           // cross-entropy in nats, summed over predictions
  std::int64_t predictions = 0;  // samples, or tokens for text models
  std::int64_t correct = 0;
};

// Told of each layer as a training step goes by, on the calling thread. An error ends the step with it.
class LayerObserver {
 public:
  virtual ~LayerObserver() = default;
  virtual Status BeforeForward(int layer) = 0;  // weights of the layer are read after this
  virtual Status AfterForward(int layer) = 0;
  virtual Status BeforeBackward(int layer) = 0;
  virtual Status GradientReady(int layer) = 0;  // its gradient is final and its weights are not read again
};

// One thread at a time.
class Model {
 public:
  virtual ~Model() = default;

  virtual const std::vector<Layer>& layers() const = 0;
  virtual std::span<float> weights() = 0;
  virtual std::span<float> gradients() = 0;

  // The same bits for the same seed on every machine.
  virtual void Initialize(std::uint64_t seed) = 0;

  // Forward and backward of the mean loss over the batch: gradients are overwritten, weights are not changed by the
  // model (the observer may change a layer's weights in BeforeForward and GradientReady). An empty batch gives zero
  // gradients and calls the observer all the same.
  // INVALID_ARGUMENT: a label out of range, a batch of another sample size.
  virtual Result<BatchResult> TrainStep(const Batch& batch, LayerObserver& observer) = 0;

  // Forward only.
  virtual Result<BatchResult> Evaluate(const Batch& batch) = 0;
};

}  // namespace weft
