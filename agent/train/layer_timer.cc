#include "agent/train/layer_timer.h"

#include <algorithm>
#include <cstddef>

namespace weft {

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return *middle;
  return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

LayerTimer::LayerTimer(const std::vector<Layer>& layers, Clock& clock) : layers_(layers), clock_(clock) {}

void LayerTimer::BeginIteration() {
  Iteration& iteration = iterations_.emplace_back();
  iteration.forward_us.resize(layers_.size());
  iteration.backward_us.resize(layers_.size());
  begin_ = clock_.Now();
}

Status LayerTimer::BeforeForward(int) {
  mark_ = clock_.Now();
  return OkStatus();
}

Status LayerTimer::AfterForward(int layer) {
  iterations_.back().forward_us[static_cast<std::size_t>(layer)] = ToMicroseconds(clock_.Now() - mark_);
  return OkStatus();
}

Status LayerTimer::BeforeBackward(int) {
  mark_ = clock_.Now();
  return OkStatus();
}

Status LayerTimer::GradientReady(int layer) {
  iterations_.back().backward_us[static_cast<std::size_t>(layer)] = ToMicroseconds(clock_.Now() - mark_);
  return OkStatus();
}

void LayerTimer::EndBackward() { mark_ = clock_.Now(); }

void LayerTimer::EndIteration() {
  const TimePoint end = clock_.Now();
  iterations_.back().optimizer_us = ToMicroseconds(end - mark_);
  iterations_.back().total_us = ToMicroseconds(end - begin_);
}

Timeline LayerTimer::Median(int warmup) const {
  const auto median_of = [&](auto figure) {
    std::vector<double> values;
    for (std::size_t i = static_cast<std::size_t>(warmup); i < iterations_.size(); ++i) {
      values.push_back(figure(iterations_[i]));
    }
    return weft::Median(std::move(values));
  };

  Timeline timeline;
  timeline.layers.resize(layers_.size());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    LayerTiming& layer = timeline.layers[l];
    layer.name = layers_[l].name;
    layer.bytes = layers_[l].count * static_cast<std::int64_t>(sizeof(float));
    layer.forward_us = median_of([l](const Iteration& i) { return i.forward_us[l]; });
    layer.backward_us = median_of([l](const Iteration& i) { return i.backward_us[l]; });
  }
  for (auto layer = timeline.layers.rbegin(); layer != timeline.layers.rend(); ++layer) {
    layer->backward_start_us = timeline.end_us;
    timeline.end_us += layer->backward_us;
  }
  timeline.optimizer_us = median_of([](const Iteration& i) { return i.optimizer_us; });
  return timeline;
}

std::vector<double> LayerTimer::IterationSeconds(int warmup) const {
  std::vector<double> seconds;
  for (std::size_t i = static_cast<std::size_t>(warmup); i < iterations_.size(); ++i) {
    seconds.push_back(iterations_[i].total_us * 1e-6);
  }
  return seconds;
}

}  // namespace weft
