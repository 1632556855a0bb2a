#include "agent/model/mlp.h"

#include <algorithm>
#include <string>

#include "agent/model/layered_model.h"
#include "agent/model/linear.h"
#include "agent/model/ops.h"

namespace weft {
namespace {

class Mlp : public LayeredModel {
 public:
  Mlp(std::int64_t inputs, const std::vector<int>& hidden_sizes, int classes)
      : LayeredModel({.text = false, .sample_floats = inputs, .context = 0, .classes = classes}) {
    std::int64_t in = inputs;
    for (std::size_t i = 0; i <= hidden_sizes.size(); ++i) {
      const std::int64_t out = i < hidden_sizes.size() ? hidden_sizes[i] : classes;
      const std::string name = "fc" + std::to_string(i + 1);
      AddLayer(name, {{name + ".weight", {out, in}, DefaultUniform(in)}, {name + ".bias", {out}, DefaultUniform(in)}});
      shapes_.push_back({in, out});
      in = out;
    }
    outputs_.resize(shapes_.size());
    output_gradients_.resize(shapes_.size());
    FinishLayers();
  }

 protected:
  void Reserve(std::int64_t size) override {
    if (size <= reserved_) return;
    reserved_ = size;
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      const auto floats = static_cast<std::size_t>(size * shapes_[i].out);
      outputs_[i].resize(floats);
      if (i + 1 < shapes_.size()) output_gradients_[i].resize(floats);
    }
  }

  void ForwardLayer(int layer, const Batch& batch, Mode /*mode*/) override {
    const auto i = static_cast<std::size_t>(layer);
    const bool last = i + 1 == shapes_.size();
    LinearForward(shapes_[i], batch.size, weight(layer, 0), weight(layer, 1),
                  last ? Activation::kNone : Activation::kRelu, Input(i, batch), outputs_[i].data());
  }

  void BackwardLayer(int layer, const Batch& batch) override {
    const auto i = static_cast<std::size_t>(layer);
    const bool last = i + 1 == shapes_.size();
    float* dy = last ? logits() : output_gradients_[i].data();
    float* dx = i == 0 ? nullptr : output_gradients_[i - 1].data();
    LinearBackward(shapes_[i], batch.size, weight(layer, 0), Input(i, batch), dy, gradient(layer, 0),
                   gradient(layer, 1), dx);
    if (dx != nullptr) ReluBackward(batch.size * shapes_[i].in, outputs_[i - 1].data(), dx);
  }

  float* logits() override { return outputs_.back().data(); }

 private:
  const float* Input(std::size_t layer, const Batch& batch) const {
    return layer == 0 ? batch.inputs.data() : outputs_[layer - 1].data();
  }

  std::vector<LinearShape> shapes_;
  std::int64_t reserved_ = 0;
  std::vector<std::vector<float>> outputs_;           // [size, out] of each layer
  std::vector<std::vector<float>> output_gradients_;  // as outputs_; of all but the last layer
};

}  // namespace

std::unique_ptr<Model> MakeMlp(std::int64_t inputs, const std::vector<int>& hidden_sizes, int classes) {
  return std::make_unique<Mlp>(inputs, hidden_sizes, classes);
}

}  // namespace weft
