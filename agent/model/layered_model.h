// What all models that compute share: the flat vectors, the checks of a batch, the order of events and the loss. A
// model adds its layers at construction and says how one layer runs forward and backward.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "agent/model/model.h"

namespace weft {

// How a parameter begins.
struct Initial {
  enum class Kind { kUniform, kConstant } kind = Kind::kUniform;
  double value = 0;  // kUniform: the bound, values lie in [-value, value); kConstant: the value
};
// What PyTorch draws for weights and biases of linear and convolutional layers: U(-1/sqrt(fan_in), 1/sqrt(fan_in)).
Initial DefaultUniform(std::int64_t fan_in);
// Kaiming's for a ReLU that follows: U(-sqrt(6/fan_in), sqrt(6/fan_in)).
Initial KaimingUniform(std::int64_t fan_in);

struct ParameterSpec {
  std::string name;
  std::vector<std::int64_t> shape;
  Initial initial;
  bool running_statistic = false;
};

enum class Mode { kTrain, kEvaluate };

// The samples that a model sees: `sample_floats` floats and a label, or for text `context` + 1 tokens.
struct SampleForm {
  bool text = false;
  std::int64_t sample_floats = 0;
  std::int64_t context = 0;
  std::int64_t classes = 0;
};

class LayeredModel : public Model {
 public:
  const std::vector<Layer>& layers() const final { return layers_; }
  std::span<float> weights() final { return weights_; }
  std::span<float> gradients() final { return gradients_; }
  void Initialize(std::uint64_t seed) final;
  Result<BatchResult> TrainStep(const Batch& batch, LayerObserver& observer) final;
  // In slices of 64 samples, so that the workspace stays small whatever the batch.
  Result<BatchResult> Evaluate(const Batch& batch) final;

 protected:
  explicit LayeredModel(SampleForm form) : form_(form) {}

  // In forward order; returns the layer's index. FinishLayers after the last allocates the flat vectors.
  int AddLayer(std::string name, std::vector<ParameterSpec> parameters);
  void FinishLayers();

  // Makes room for `size` samples. Allocates only when size is larger than ever before.
  virtual void Reserve(std::int64_t size) = 0;
  // Runs one layer on batch.size > 0 samples. The last layer leaves logits().
  virtual void ForwardLayer(int layer, const Batch& batch, Mode mode) = 0;
  // Overwrites the layer's gradients (Mode::kTrain was run before). logits() holds their gradient when the last layer's
  // turn comes.
  virtual void BackwardLayer(int layer, const Batch& batch) = 0;
  virtual float* logits() = 0;

  const float* weight(int layer, std::size_t parameter) const { return weights_.data() + Offset(layer, parameter); }
  float* gradient(int layer, std::size_t parameter) { return gradients_.data() + Offset(layer, parameter); }

 private:
  std::int64_t Offset(int layer, std::size_t parameter) const {
    return layers_[static_cast<std::size_t>(layer)].parameters[parameter].first;
  }
  Status Check(const Batch& batch) const;
  BatchResult Loss(const Batch& batch, float scale);

  const SampleForm form_;
  std::vector<Layer> layers_;
  std::vector<Initial> initials_;  // of each parameter, in the order of the flat vector
  std::vector<float> weights_;
  std::vector<float> gradients_;
  std::vector<std::int32_t> targets_;  // text only: the next tokens of the batch
};

}  // namespace weft
