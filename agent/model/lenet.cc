#include "agent/model/lenet.h"

#include <array>
#include <vector>

#include "agent/model/convolution.h"
#include "agent/model/layered_model.h"
#include "agent/model/linear.h"
#include "agent/model/ops.h"
#include "agent/model/pool.h"

namespace weft {
namespace {

constexpr int kConv1 = 0;
constexpr int kConv2 = 1;
constexpr int kLinears = 2;  // the index of fc1
constexpr int kLinearCount = 3;

// A convolution with its ReLU and pool.
struct Stage {
  explicit Stage(const ConvolutionShape& shape) : convolution(shape) {}

  std::int64_t rows() const { return convolution.shape().out_height() / 2; }
  std::int64_t cols() const { return convolution.shape().out_width() / 2; }
  std::int64_t pooled_floats() const { return convolution.shape().out_channels * rows() * cols(); }

  void Reserve(std::int64_t size) {
    outputs.resize(static_cast<std::size_t>(size * convolution.shape().out_floats()));
    const auto floats = static_cast<std::size_t>(size * pooled_floats());
    pooled.resize(floats);
    pooled_gradients.resize(floats);
    choices.resize(floats);
  }

  void Forward(std::int64_t n, const float* weight, const float* bias, const float* x) {
    const ConvolutionShape& shape = convolution.shape();
    convolution.Forward(n, weight, bias, x, outputs.data());
    ReluMaxPoolForward(n * shape.out_channels, shape.out_height(), shape.out_width(), outputs.data(), pooled.data(),
                       choices.data());
  }

  // From pooled_gradients. dx may be null. Overwrites `outputs`, which the pool's choices have made useless.
  void Backward(std::int64_t n, const float* weight, const float* x, float* dweight, float* dbias, float* dx) {
    const ConvolutionShape& shape = convolution.shape();
    float* dy = outputs.data();
    ReluMaxPoolBackward(n * shape.out_channels, shape.out_height(), shape.out_width(), pooled_gradients.data(),
                        choices.data(), dy);
    convolution.BackwardWeight(n, x, dy, dweight, dbias);
    if (dx != nullptr) convolution.BackwardInput(n, weight, dy, dx);
  }

  Convolution convolution;
  std::vector<float> outputs;  // of the convolution; their gradient in backward
  std::vector<float> pooled;
  std::vector<float> pooled_gradients;
  std::vector<std::uint8_t> choices;
};

class Lenet : public LayeredModel {
 public:
  Lenet(std::int64_t channels, std::int64_t height, std::int64_t width, int classes)
      : LayeredModel({.text = false, .sample_floats = channels * height * width, .context = 0, .classes = classes}),
        stage1_({.in_channels = channels,
                 .out_channels = 6,
                 .height = height,
                 .width = width,
                 .kernel = 5,
                 .stride = 1,
                 .padding = 2}),
        stage2_({.in_channels = 6,
                 .out_channels = 16,
                 .height = stage1_.rows(),
                 .width = stage1_.cols(),
                 .kernel = 5,
                 .stride = 1,
                 .padding = 0}),
        linears_{{{stage2_.pooled_floats(), 120}, {120, 84}, {84, classes}}} {
    AddConvolution("conv1", stage1_);
    AddConvolution("conv2", stage2_);
    for (std::size_t i = 0; i < kLinearCount; ++i) {
      const LinearShape shape = linears_[i];
      const std::string name = "fc" + std::to_string(i + 1);
      AddLayer(name, {{name + ".weight", {shape.out, shape.in}, DefaultUniform(shape.in)},
                      {name + ".bias", {shape.out}, DefaultUniform(shape.in)}});
    }
    FinishLayers();
  }

 protected:
  void Reserve(std::int64_t size) override {
    if (size <= reserved_) return;
    reserved_ = size;
    stage1_.Reserve(size);
    stage2_.Reserve(size);
    for (std::size_t i = 0; i < kLinearCount; ++i) {
      outputs_[i].resize(static_cast<std::size_t>(size * linears_[i].out));
      if (i + 1 < kLinearCount) output_gradients_[i].resize(outputs_[i].size());
    }
  }

  void ForwardLayer(int layer, const Batch& batch, Mode /*mode*/) override {
    if (layer == kConv1) {
      stage1_.Forward(batch.size, weight(layer, 0), weight(layer, 1), batch.inputs.data());
    } else if (layer == kConv2) {
      stage2_.Forward(batch.size, weight(layer, 0), weight(layer, 1), stage1_.pooled.data());
    } else {
      const auto i = static_cast<std::size_t>(layer - kLinears);
      LinearForward(linears_[i], batch.size, weight(layer, 0), weight(layer, 1),
                    i + 1 == kLinearCount ? Activation::kNone : Activation::kRelu, LinearInput(i), outputs_[i].data());
    }
  }

  void BackwardLayer(int layer, const Batch& batch) override {
    if (layer == kConv1) {
      stage1_.Backward(batch.size, weight(layer, 0), batch.inputs.data(), gradient(layer, 0), gradient(layer, 1),
                       nullptr);
    } else if (layer == kConv2) {
      stage2_.Backward(batch.size, weight(layer, 0), stage1_.pooled.data(), gradient(layer, 0), gradient(layer, 1),
                       stage1_.pooled_gradients.data());
    } else {
      const auto i = static_cast<std::size_t>(layer - kLinears);
      float* dy = i + 1 == kLinearCount ? logits() : output_gradients_[i].data();
      float* dx = i == 0 ? stage2_.pooled_gradients.data() : output_gradients_[i - 1].data();
      LinearBackward(linears_[i], batch.size, weight(layer, 0), LinearInput(i), dy, gradient(layer, 0),
                     gradient(layer, 1), dx);
      // The pool's ReLU is undone by its choices.
      if (i > 0) ReluBackward(batch.size * linears_[i].in, LinearInput(i), dx);
    }
  }

  float* logits() override { return outputs_.back().data(); }

 private:
  void AddConvolution(const std::string& name, const Stage& stage) {
    const ConvolutionShape& shape = stage.convolution.shape();
    AddLayer(name, {{name + ".weight",
                     {shape.out_channels, shape.in_channels, shape.kernel, shape.kernel},
                     DefaultUniform(shape.taps())},
                    {name + ".bias", {shape.out_channels}, DefaultUniform(shape.taps())}});
  }

  const float* LinearInput(std::size_t i) const { return i == 0 ? stage2_.pooled.data() : outputs_[i - 1].data(); }

  Stage stage1_;
  Stage stage2_;
  const std::array<LinearShape, kLinearCount> linears_;
  std::int64_t reserved_ = 0;
  std::array<std::vector<float>, kLinearCount> outputs_;
  std::array<std::vector<float>, kLinearCount> output_gradients_;  // of all but the last
};

}  // namespace

std::unique_ptr<Model> MakeLenet(std::int64_t channels, std::int64_t height, std::int64_t width, int classes) {
  return std::make_unique<Lenet>(channels, height, width, classes);
}

}  // namespace weft
