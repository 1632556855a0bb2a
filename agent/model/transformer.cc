#include "agent/model/transformer.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "agent/model/attention.h"
#include "agent/model/gemm.h"
#include "agent/model/layer_norm.h"
#include "agent/model/layered_model.h"
#include "agent/model/linear.h"
#include "agent/model/ops.h"

namespace weft {
namespace {

constexpr std::int64_t kBytes = 256;
constexpr int kEmbedding = 0;

// Parameters of a block's two layers: a normalization and two linear layers.
constexpr std::size_t kScale = 0;
constexpr std::size_t kShift = 1;
constexpr std::size_t kInWeight = 2;
constexpr std::size_t kInBias = 3;
constexpr std::size_t kOutWeight = 4;
constexpr std::size_t kOutBias = 5;

// What a normalization leaves for its backward.
struct Normalized {
  void Reserve(std::int64_t rows, std::int64_t width) {
    outputs.resize(static_cast<std::size_t>(rows * width));
    mean.resize(static_cast<std::size_t>(rows));
    inverse_deviation.resize(static_cast<std::size_t>(rows));
  }
  std::vector<float> outputs;
  std::vector<float> mean;
  std::vector<float> inverse_deviation;
};

// A block's attention or feed-forward half: x + out(f(in(norm(x)))).
struct Half {
  Normalized norm;
  std::vector<float> inner;    // of the first linear layer
  std::vector<float> applied;  // attention or GELU of it
  std::vector<float> probabilities;
  std::vector<float> outputs;  // with the residual
};

class Transformer : public LayeredModel {
 public:
  explicit Transformer(const TransformerShape& shape)
      : LayeredModel({.text = true, .sample_floats = 0, .context = shape.context, .classes = kBytes}),
        context_(shape.context),
        width_(shape.width),
        attention_{shape.context, shape.width, shape.heads} {
    // A standard deviation of 0.02, as GPT-2's.
    const Initial embedding{Initial::Kind::kUniform, 0.02 * std::sqrt(3.0)};
    AddLayer("embedding", {{"wte.weight", {kBytes, width_}, embedding}, {"wpe.weight", {context_, width_}, embedding}});
    for (int block = 0; block < shape.layers; ++block) {
      const std::string prefix = "h." + std::to_string(block) + ".";
      AddHalf(prefix, "attn", "ln_1", "c_attn", 3 * width_, width_);
      AddHalf(prefix, "mlp", "ln_2", "c_fc", 4 * width_, 4 * width_);
    }
    halves_.resize(2 * static_cast<std::size_t>(shape.layers));
    final_norm_ = AddLayer("ln_f", {{"ln_f.weight", {width_}, {Initial::Kind::kConstant, 1}},
                                    {"ln_f.bias", {width_}, {Initial::Kind::kConstant, 0}}});
    head_ = AddLayer("head", {});
    FinishLayers();
  }

 protected:
  void Reserve(std::int64_t size) override {
    if (size <= reserved_) return;
    reserved_ = size;
    const std::int64_t rows = size * context_;
    const auto floats = static_cast<std::size_t>(rows * width_);
    embedded_.resize(floats);
    for (std::size_t i = 0; i < halves_.size(); ++i) {
      Half& half = halves_[i];
      const bool attention = i % 2 == 0;
      half.norm.Reserve(rows, width_);
      half.inner.resize((attention ? 3 : 4) * floats);
      half.applied.resize((attention ? 1 : 4) * floats);
      if (attention) half.probabilities.resize(static_cast<std::size_t>(rows * attention_.heads * context_));
      half.outputs.resize(floats);
    }
    final_.Reserve(rows, width_);
    logits_.resize(static_cast<std::size_t>(rows * kBytes));
    gradient_.resize(floats);
    norm_gradients_.resize(floats);
    applied_gradients_.resize(4 * floats);
    inner_gradients_.resize(4 * floats);
    score_gradients_.resize(static_cast<std::size_t>(context_ * context_));
  }

  void ForwardLayer(int layer, const Batch& batch, Mode /*mode*/) override {
    const std::int64_t rows = batch.size * context_;
    if (layer == kEmbedding) {
      Embed(batch);
    } else if (layer == head_) {
      MultiplyNT({final_.outputs.data(), rows, width_, width_}, TokenEmbedding(),
                 {logits_.data(), rows, kBytes, kBytes});
    } else if (layer == final_norm_) {
      LayerNormForward(rows, width_, weight(layer, kScale), weight(layer, kShift), Input(layer), final_.outputs.data(),
                       final_.mean.data(), final_.inverse_deviation.data());
    } else {
      ForwardHalf(layer, batch.size);
    }
  }

  void BackwardLayer(int layer, const Batch& batch) override {
    const std::int64_t rows = batch.size * context_;
    if (layer == kEmbedding) {
      EmbedBackward(batch);
    } else if (layer == head_) {
      const ConstMatrix dlogits{logits_.data(), rows, kBytes, kBytes};
      // The first part of the embedding's gradient; EmbedBackward adds the other.
      MultiplyTN(dlogits, {final_.outputs.data(), rows, width_, width_},
                 {gradient(kEmbedding, 0), kBytes, width_, width_});
      MultiplyNN(dlogits, TokenEmbedding(), {norm_gradients_.data(), rows, width_, width_});
    } else if (layer == final_norm_) {
      std::fill_n(gradient_.begin(), rows * width_, 0.0F);
      LayerNormBackward(rows, width_, weight(layer, kScale), Input(layer), final_.mean.data(),
                        final_.inverse_deviation.data(), norm_gradients_.data(), gradient(layer, kScale),
                        gradient(layer, kShift), gradient_.data());
    } else {
      BackwardHalf(layer, batch.size);
    }
  }

  float* logits() override { return logits_.data(); }

 private:
  void AddHalf(const std::string& prefix, const std::string& name, const std::string& norm, const std::string& inner,
               std::int64_t inner_width, std::int64_t applied_width) {
    const std::string place = prefix + name + ".";
    const Initial in = DefaultUniform(width_);
    const Initial out = DefaultUniform(applied_width);
    AddLayer(prefix + name, {{prefix + norm + ".weight", {width_}, {Initial::Kind::kConstant, 1}},
                             {prefix + norm + ".bias", {width_}, {Initial::Kind::kConstant, 0}},
                             {place + inner + ".weight", {inner_width, width_}, in},
                             {place + inner + ".bias", {inner_width}, in},
                             {place + "c_proj.weight", {width_, applied_width}, out},
                             {place + "c_proj.bias", {width_}, out}});
  }

  static bool IsAttention(int layer) { return layer % 2 == 1; }
  Half& HalfOf(int layer) { return halves_[static_cast<std::size_t>(layer - 1)]; }
  // What a layer behind the embedding reads.
  const float* Input(int layer) { return layer == 1 ? embedded_.data() : HalfOf(layer - 1).outputs.data(); }
  ConstMatrix TokenEmbedding() const { return {weight(kEmbedding, 0), kBytes, width_, width_}; }
  LinearShape InnerShape(int layer) const { return {width_, (IsAttention(layer) ? 3 : 4) * width_}; }
  LinearShape OuterShape(int layer) const { return {(IsAttention(layer) ? 1 : 4) * width_, width_}; }

  void Embed(const Batch& batch) {
    float* to = embedded_.data();
    for (std::int64_t sample = 0; sample < batch.size; ++sample) {
      const std::uint8_t* tokens = batch.tokens.data() + sample * (context_ + 1);
      for (std::int64_t t = 0; t < context_; ++t, to += width_) {
        const float* token = weight(kEmbedding, 0) + tokens[t] * width_;
        const float* position = weight(kEmbedding, 1) + t * width_;
        for (std::int64_t i = 0; i < width_; ++i) to[i] = token[i] + position[i];
      }
    }
  }

  void EmbedBackward(const Batch& batch) {
    float* dpositions = gradient(kEmbedding, 1);
    std::fill_n(dpositions, context_ * width_, 0.0F);
    const float* from = gradient_.data();
    for (std::int64_t sample = 0; sample < batch.size; ++sample) {
      const std::uint8_t* tokens = batch.tokens.data() + sample * (context_ + 1);
      for (std::int64_t t = 0; t < context_; ++t, from += width_) {
        float* dtoken = gradient(kEmbedding, 0) + tokens[t] * width_;
        float* dposition = dpositions + t * width_;
        for (std::int64_t i = 0; i < width_; ++i) {
          dtoken[i] += from[i];
          dposition[i] += from[i];
        }
      }
    }
  }

  void ForwardHalf(int layer, std::int64_t n) {
    Half& half = HalfOf(layer);
    const std::int64_t rows = n * context_;
    const float* x = Input(layer);
    LayerNormForward(rows, width_, weight(layer, kScale), weight(layer, kShift), x, half.norm.outputs.data(),
                     half.norm.mean.data(), half.norm.inverse_deviation.data());
    const LinearShape inner = InnerShape(layer);
    LinearForward(inner, rows, weight(layer, kInWeight), weight(layer, kInBias), Activation::kNone,
                  half.norm.outputs.data(), half.inner.data());
    if (IsAttention(layer)) {
      AttentionForward(attention_, n, half.inner.data(), half.probabilities.data(), half.applied.data());
    } else {
      GeluForward(rows * inner.out, half.inner.data(), half.applied.data());
    }
    LinearForward(OuterShape(layer), rows, weight(layer, kOutWeight), weight(layer, kOutBias), Activation::kNone,
                  half.applied.data(), half.outputs.data());
    for (std::int64_t i = 0; i < rows * width_; ++i) half.outputs[static_cast<std::size_t>(i)] += x[i];
  }

  // gradient_ holds that of the half's output, and then of its input.
  void BackwardHalf(int layer, std::int64_t n) {
    Half& half = HalfOf(layer);
    const std::int64_t rows = n * context_;
    const LinearShape inner = InnerShape(layer);
    LinearBackward(OuterShape(layer), rows, weight(layer, kOutWeight), half.applied.data(), gradient_.data(),
                   gradient(layer, kOutWeight), gradient(layer, kOutBias), applied_gradients_.data());
    if (IsAttention(layer)) {
      AttentionBackward(attention_, n, half.inner.data(), half.probabilities.data(), applied_gradients_.data(),
                        score_gradients_.data(), inner_gradients_.data());
    } else {
      GeluBackward(rows * inner.out, half.inner.data(), applied_gradients_.data(), inner_gradients_.data());
    }
    LinearBackward(inner, rows, weight(layer, kInWeight), half.norm.outputs.data(), inner_gradients_.data(),
                   gradient(layer, kInWeight), gradient(layer, kInBias), norm_gradients_.data());
    LayerNormBackward(rows, width_, weight(layer, kScale), Input(layer), half.norm.mean.data(),
                      half.norm.inverse_deviation.data(), norm_gradients_.data(), gradient(layer, kScale),
                      gradient(layer, kShift), gradient_.data());
  }

  const std::int64_t context_;
  const std::int64_t width_;
  const AttentionShape attention_;
  int final_norm_ = 0;
  int head_ = 0;
  std::int64_t reserved_ = 0;
  // Each has a row for each position of each sample.
  std::vector<float> embedded_;
  std::vector<Half> halves_;  // attention and feed-forward in turns
  Normalized final_;
  std::vector<float> logits_;
  std::vector<float> gradient_;  // of what goes from layer to layer
  std::vector<float> norm_gradients_;
  std::vector<float> applied_gradients_;
  std::vector<float> inner_gradients_;
  std::vector<float> score_gradients_;
};

}  // namespace

std::unique_ptr<Model> MakeTransformer(const TransformerShape& shape) { return std::make_unique<Transformer>(shape); }

}  // namespace weft
