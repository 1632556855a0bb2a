#include "agent/model/resnet.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "agent/model/batch_norm.h"
#include "agent/model/convolution.h"
#include "agent/model/layered_model.h"
#include "agent/model/linear.h"
#include "agent/model/vector_math.h"

namespace weft {
namespace {

constexpr int kStages = 3;

// Parameters of a unit's layer.
constexpr std::size_t kWeight = 0;
constexpr std::size_t kScale = 1;
constexpr std::size_t kShift = 2;
constexpr std::size_t kRunningMean = 3;
constexpr std::size_t kRunningVariance = 4;

// A convolution and its normalization. Units 2b + 1 and 2b + 2 are block b's.
struct Unit {
  explicit Unit(const ConvolutionShape& shape)
      : convolution(shape), norm(shape.out_channels, shape.out_height() * shape.out_width()) {}

  const ConvolutionShape& shape() const { return convolution.shape(); }

  Convolution convolution;
  BatchNorm norm;
  std::vector<float> products;  // of the convolution
  std::vector<float> outputs;   // after normalization, residual and ReLU
};

// The shortcut where a block has a stride: y[n, c + pad, i, j] = x[n, c, 2i, 2j], 0 in the other channels. `block` is
// the shape of the block's first convolution.
void ShortcutForward(const ConvolutionShape& block, std::int64_t n, const float* x, float* y) {
  const std::int64_t rows = block.out_height();
  const std::int64_t cols = block.out_width();
  const std::int64_t pad = (block.out_channels - block.in_channels) / 2;
  std::fill_n(y, n * block.out_floats(), 0.0F);
  for (std::int64_t i = 0; i < n; ++i, x += block.in_floats(), y += block.out_floats()) {
    for (std::int64_t c = 0; c < block.in_channels; ++c) {
      for (std::int64_t row = 0; row < rows; ++row) {
        const float* from = x + (c * block.height + row * block.stride) * block.width;
        float* to = y + ((c + pad) * rows + row) * cols;
        for (std::int64_t col = 0; col < cols; ++col) to[col] = from[col * block.stride];
      }
    }
  }
}

// dx += its transpose times dy.
void ShortcutBackward(const ConvolutionShape& block, std::int64_t n, const float* dy, float* dx) {
  const std::int64_t rows = block.out_height();
  const std::int64_t cols = block.out_width();
  const std::int64_t pad = (block.out_channels - block.in_channels) / 2;
  for (std::int64_t i = 0; i < n; ++i, dx += block.in_floats(), dy += block.out_floats()) {
    for (std::int64_t c = 0; c < block.in_channels; ++c) {
      for (std::int64_t row = 0; row < rows; ++row) {
        float* to = dx + (c * block.height + row * block.stride) * block.width;
        const float* from = dy + ((c + pad) * rows + row) * cols;
        for (std::int64_t col = 0; col < cols; ++col) to[col * block.stride] += from[col];
      }
    }
  }
}

class Resnet : public LayeredModel {
 public:
  explicit Resnet(const ResnetShape& shape)
      : LayeredModel({.text = false,
                      .sample_floats = shape.channels * shape.height * shape.width,
                      .context = 0,
                      .classes = shape.classes}) {
    AddUnit("", 1,
            {.in_channels = shape.channels,
             .out_channels = shape.first_width,
             .height = shape.height,
             .width = shape.width,
             .kernel = 3,
             .stride = 1,
             .padding = 1});
    for (int stage = 0; stage < kStages; ++stage) {
      for (int block = 0; block < shape.blocks; ++block) {
        const std::string prefix = "layer" + std::to_string(stage + 1) + "." + std::to_string(block) + ".";
        for (int number = 1; number <= 2; ++number) {
          const ConvolutionShape& before = units_.back().shape();
          AddUnit(prefix, number,
                  {.in_channels = before.out_channels,
                   .out_channels = shape.first_width << stage,
                   .height = before.out_height(),
                   .width = before.out_width(),
                   .kernel = 3,
                   .stride = stage > 0 && block == 0 && number == 1 ? 2 : 1,
                   .padding = 1});
        }
      }
    }
    const std::int64_t features = units_.back().shape().out_channels;
    linear_ = {features, shape.classes};
    AddLayer("linear", {{"linear.weight", {linear_.out, linear_.in}, DefaultUniform(features)},
                        {"linear.bias", {linear_.out}, DefaultUniform(features)}});
    FinishLayers();
  }

 protected:
  void Reserve(std::int64_t size) override {
    if (size <= reserved_) return;
    reserved_ = size;
    std::int64_t largest = 0;
    for (Unit& unit : units_) {
      const std::int64_t floats = size * unit.shape().out_floats();
      unit.products.resize(static_cast<std::size_t>(floats));
      unit.outputs.resize(static_cast<std::size_t>(floats));
      largest = std::max(largest, floats);
    }
    for (std::vector<float>* buffer : {&output_gradients_, &inner_gradients_, &input_gradients_, &shortcuts_}) {
      buffer->resize(static_cast<std::size_t>(largest));
    }
    features_.resize(static_cast<std::size_t>(size * linear_.in));
    feature_gradients_.resize(features_.size());
    logits_.resize(static_cast<std::size_t>(size * linear_.out));
  }

  void ForwardLayer(int layer, const Batch& batch, Mode mode) override {
    const std::int64_t n = batch.size;
    const auto i = static_cast<std::size_t>(layer);
    if (i == units_.size()) {
      PoolForward(n);
      LinearForward(linear_, n, weight(layer, 0), weight(layer, 1), Activation::kNone, features_.data(),
                    logits_.data());
      return;
    }
    Unit& unit = units_[i];
    unit.convolution.Forward(n, weight(layer, kWeight), nullptr, Input(i, batch), unit.products.data());
    const float* residual = nullptr;
    if (EndsBlock(i)) {
      const ConvolutionShape& block = units_[i - 1].shape();
      residual = Input(i - 1, batch);
      if (block.stride > 1) {
        ShortcutForward(block, n, residual, shortcuts_.data());
        residual = shortcuts_.data();
      }
    }
    if (mode == Mode::kTrain) {
      unit.norm.ForwardTrain(n, weight(layer, kScale), weight(layer, kShift), unit.products.data(), residual,
                             unit.outputs.data());
    } else {
      unit.norm.ForwardEvaluate(n, weight(layer, kScale), weight(layer, kShift), weight(layer, kRunningMean),
                                weight(layer, kRunningVariance), unit.products.data(), residual, unit.outputs.data());
    }
  }

  void BackwardLayer(int layer, const Batch& batch) override {
    const std::int64_t n = batch.size;
    const auto i = static_cast<std::size_t>(layer);
    if (i == units_.size()) {
      LinearBackward(linear_, n, weight(layer, 0), features_.data(), logits_.data(), gradient(layer, 0),
                     gradient(layer, 1), feature_gradients_.data());
      PoolBackward(n);
      return;
    }
    Unit& unit = units_[i];
    unit.norm.StatisticGradients(weight(layer, kRunningMean), weight(layer, kRunningVariance),
                                 gradient(layer, kRunningMean), gradient(layer, kRunningVariance));
    // A block's second unit leaves the masked gradient of the block's output in output_gradients_, for the shortcut,
    // and its input's in inner_gradients_; the first unit adds both ways up.
    const bool inside_block = i > 0 && !EndsBlock(i);
    float* dy = inside_block ? inner_gradients_.data() : output_gradients_.data();
    float* dproducts = EndsBlock(i) ? input_gradients_.data() : dy;
    unit.norm.Backward(n, weight(layer, kScale), unit.products.data(), unit.outputs.data(), dy, gradient(layer, kScale),
                       gradient(layer, kShift), dproducts);
    unit.convolution.BackwardWeight(n, Input(i, batch), dproducts, gradient(layer, kWeight), nullptr);
    if (i == 0) return;
    float* dx = EndsBlock(i) ? inner_gradients_.data() : input_gradients_.data();
    unit.convolution.BackwardInput(n, weight(layer, kWeight), dproducts, dx);
    if (EndsBlock(i)) return;
    if (unit.shape().stride > 1) {
      ShortcutBackward(unit.shape(), n, output_gradients_.data(), dx);
    } else {
      const std::int64_t floats = n * unit.shape().in_floats();
      for (std::int64_t k = 0; k < floats; ++k) dx[k] += output_gradients_[static_cast<std::size_t>(k)];
    }
    std::swap(output_gradients_, input_gradients_);
  }

  float* logits() override { return logits_.data(); }

 private:
  static bool EndsBlock(std::size_t unit) { return unit > 0 && unit % 2 == 0; }

  void AddUnit(const std::string& prefix, int number, const ConvolutionShape& shape) {
    const std::string conv = prefix + "conv" + std::to_string(number);
    const std::string norm = prefix + "bn" + std::to_string(number);
    const std::int64_t out = shape.out_channels;
    const Initial zero{Initial::Kind::kConstant, 0};
    const Initial one{Initial::Kind::kConstant, 1};
    AddLayer(conv,
             {{conv + ".weight", {out, shape.in_channels, shape.kernel, shape.kernel}, KaimingUniform(shape.taps())},
              {norm + ".weight", {out}, one},
              {norm + ".bias", {out}, zero},
              {norm + ".running_mean", {out}, zero, true},
              {norm + ".running_var", {out}, one, true}});
    units_.emplace_back(shape);
  }

  const float* Input(std::size_t unit, const Batch& batch) const {
    return unit == 0 ? batch.inputs.data() : units_[unit - 1].outputs.data();
  }

  std::int64_t LastArea() const { return units_.back().shape().out_height() * units_.back().shape().out_width(); }

  void PoolForward(std::int64_t n) {
    const std::int64_t area = LastArea();
    const float* plane = units_.back().outputs.data();
    for (std::int64_t i = 0; i < n * linear_.in; ++i, plane += area) {
      features_[static_cast<std::size_t>(i)] =
          LaneSum(area, [plane](std::int64_t j) { return plane[j]; }) / static_cast<float>(area);
    }
  }

  void PoolBackward(std::int64_t n) {
    const std::int64_t area = LastArea();
    float* plane = output_gradients_.data();
    for (std::int64_t i = 0; i < n * linear_.in; ++i, plane += area) {
      std::fill_n(plane, area, feature_gradients_[static_cast<std::size_t>(i)] / static_cast<float>(area));
    }
  }

  std::vector<Unit> units_;
  LinearShape linear_;
  std::int64_t reserved_ = 0;
  std::vector<float> features_;
  std::vector<float> feature_gradients_;
  std::vector<float> logits_;
  // As large as the largest unit's outputs.
  std::vector<float> shortcuts_;
  std::vector<float> output_gradients_;  // of the block that runs backward
  std::vector<float> inner_gradients_;   // between its two units
  std::vector<float> input_gradients_;
};

}  // namespace

std::unique_ptr<Model> MakeResnet(const ResnetShape& shape) { return std::make_unique<Resnet>(shape); }

}  // namespace weft
