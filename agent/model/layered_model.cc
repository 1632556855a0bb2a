#include "agent/model/layered_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "agent/model/ops.h"
#include "agent/model/random.h"
#include "common/check.h"

namespace weft {
namespace {

constexpr std::int64_t kEvaluationSlice = 64;

std::string Text(std::int64_t value) { return std::to_string(value); }

}  // namespace

Initial DefaultUniform(std::int64_t fan_in) {
  return {Initial::Kind::kUniform, 1.0 / std::sqrt(static_cast<double>(fan_in))};
}

Initial KaimingUniform(std::int64_t fan_in) {
  return {Initial::Kind::kUniform, std::sqrt(6.0 / static_cast<double>(fan_in))};
}

int LayeredModel::AddLayer(std::string name, std::vector<ParameterSpec> parameters) {
  Layer layer;
  layer.name = std::move(name);
  layer.first = layers_.empty() ? 0 : layers_.back().first + layers_.back().count;
  for (ParameterSpec& spec : parameters) {
    Parameter parameter;
    parameter.name = std::move(spec.name);
    parameter.shape = std::move(spec.shape);
    parameter.first = layer.first + layer.count;
    parameter.running_statistic = spec.running_statistic;
    layer.count += parameter.count();
    layer.parameters.push_back(std::move(parameter));
    initials_.push_back(spec.initial);
  }
  layers_.push_back(std::move(layer));
  return static_cast<int>(layers_.size()) - 1;
}

void LayeredModel::FinishLayers() {
  const auto total = static_cast<std::size_t>(layers_.back().first + layers_.back().count);
  weights_.assign(total, 0.0F);
  gradients_.assign(total, 0.0F);
}

void LayeredModel::Initialize(std::uint64_t seed) {
  std::size_t index = 0;
  for (const Layer& layer : layers_) {
    for (const Parameter& parameter : layer.parameters) {
      const Initial initial = initials_[index];
      const CounterRandom random(seed, index);
      ++index;
      float* values = weights_.data() + parameter.first;
      const auto value = static_cast<float>(initial.value);
      for (std::int64_t i = 0; i < parameter.count(); ++i) {
        values[i] = initial.kind == Initial::Kind::kConstant
                        ? value
                        : value * random.UniformSigned(static_cast<std::uint64_t>(i));
      }
    }
  }
}

Status LayeredModel::Check(const Batch& batch) const {
  if (batch.size < 0) return InvalidArgumentError("batch: a size of " + Text(batch.size) + " is below 0");
  const auto size = static_cast<std::size_t>(batch.size);
  if (form_.text) {
    const std::int64_t length = form_.context + 1;
    if (batch.tokens.size() != size * static_cast<std::size_t>(length)) {
      return InvalidArgumentError("batch: " + std::to_string(batch.tokens.size()) + " tokens are not " +
                                  Text(batch.size) + " samples of " + Text(length));
    }
    return OkStatus();
  }
  if (batch.inputs.size() != size * static_cast<std::size_t>(form_.sample_floats)) {
    return InvalidArgumentError("batch: " + std::to_string(batch.inputs.size()) + " floats are not " +
                                Text(batch.size) + " samples of " + Text(form_.sample_floats));
  }
  if (batch.labels.size() != size) {
    return InvalidArgumentError("batch: " + std::to_string(batch.labels.size()) + " labels for " + Text(batch.size) +
                                " samples");
  }
  for (std::size_t i = 0; i < size; ++i) {
    if (batch.labels[i] < 0 || batch.labels[i] >= form_.classes) {
      return InvalidArgumentError("batch: label " + std::to_string(batch.labels[i]) + " of sample " +
                                  std::to_string(i) + " is outside 0 to " + Text(form_.classes - 1));
    }
  }
  return OkStatus();
}

BatchResult LayeredModel::Loss(const Batch& batch, float scale) {
  if (!form_.text) return SoftmaxCrossEntropy(batch.size, form_.classes, batch.labels, scale, logits());
  const std::int64_t rows = batch.size * form_.context;
  targets_.resize(static_cast<std::size_t>(rows));
  std::size_t row = 0;
  for (std::int64_t s = 0; s < batch.size; ++s) {
    const std::uint8_t* tokens = batch.tokens.data() + s * (form_.context + 1);
    for (std::int64_t t = 0; t < form_.context; ++t) targets_[row++] = tokens[t + 1];
  }
  return SoftmaxCrossEntropy(rows, form_.classes, targets_, scale, logits());
}

Result<BatchResult> LayeredModel::TrainStep(const Batch& batch, LayerObserver& observer) {
  WEFT_RETURN_IF_ERROR(Check(batch));
  const int count = static_cast<int>(layers_.size());
  const bool empty = batch.size == 0;
  if (empty) {
    std::fill(gradients_.begin(), gradients_.end(), 0.0F);
  } else {
    Reserve(batch.size);
  }
  for (int layer = 0; layer < count; ++layer) {
    WEFT_RETURN_IF_ERROR(observer.BeforeForward(layer));
    if (!empty) ForwardLayer(layer, batch, Mode::kTrain);
    WEFT_RETURN_IF_ERROR(observer.AfterForward(layer));
  }
  BatchResult result;
  if (!empty) {
    const std::int64_t predictions = form_.text ? batch.size * form_.context : batch.size;
    result = Loss(batch, 1.0F / static_cast<float>(predictions));
  }
  for (int layer = count - 1; layer >= 0; --layer) {
    WEFT_RETURN_IF_ERROR(observer.BeforeBackward(layer));
    if (!empty) BackwardLayer(layer, batch);
    WEFT_RETURN_IF_ERROR(observer.GradientReady(layer));
  }
  return result;
}

Result<BatchResult> LayeredModel::Evaluate(const Batch& batch) {
  WEFT_RETURN_IF_ERROR(Check(batch));
  BatchResult total;
  for (std::int64_t first = 0; first < batch.size; first += kEvaluationSlice) {
    Batch slice;
    slice.size = std::min(kEvaluationSlice, batch.size - first);
    const auto from = static_cast<std::size_t>(first);
    const auto size = static_cast<std::size_t>(slice.size);
    if (form_.text) {
      const auto length = static_cast<std::size_t>(form_.context + 1);
      slice.tokens = batch.tokens.subspan(from * length, size * length);
    } else {
      const auto floats = static_cast<std::size_t>(form_.sample_floats);
      slice.inputs = batch.inputs.subspan(from * floats, size * floats);
      slice.labels = batch.labels.subspan(from, size);
    }
    Reserve(slice.size);
    for (int layer = 0; layer < static_cast<int>(layers_.size()); ++layer) {
      ForwardLayer(layer, slice, Mode::kEvaluate);
    }
    const BatchResult part = Loss(slice, 0);
    total.loss_sum += part.loss_sum;
    total.predictions += part.predictions;
    total.correct += part.correct;
  }
  return total;
}

}  // namespace weft
