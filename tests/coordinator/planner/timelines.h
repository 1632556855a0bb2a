// Timelines for the planner's tests.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "common/plan/plan.h"

namespace weft {

// Layers of these sizes in forward order, each with this forward and backward time.
inline Timeline UniformTimeline(const std::vector<std::int64_t>& bytes, double forward_us, double backward_us) {
  Timeline timeline;
  const std::size_t count = bytes.size();
  for (std::size_t i = 0; i < count; ++i) {
    timeline.layers.push_back({.name = "layer" + std::to_string(i),
                               .bytes = bytes[i],
                               .forward_us = forward_us,
                               .backward_us = backward_us,
                               .backward_start_us = backward_us * static_cast<double>(count - 1 - i)});
  }
  timeline.end_us = backward_us * static_cast<double>(count);
  return timeline;
}

// 1 to `max_layers` layers of random sizes (some without parameters, at least one with) and times.
inline Timeline RandomTimeline(std::mt19937_64* random, int max_layers) {
  std::uniform_int_distribution<int> layers(1, max_layers);
  std::uniform_int_distribution<std::int64_t> floats(1, 20000);
  std::uniform_real_distribution<double> time(0, 100);
  std::bernoulli_distribution empty(0.2);
  Timeline timeline;
  timeline.layers.resize(static_cast<std::size_t>(layers(*random)));
  double start = 0;
  for (std::size_t i = timeline.layers.size(); i-- > 0;) {
    LayerTiming& layer = timeline.layers[i];
    layer.name = "layer" + std::to_string(i);
    layer.bytes = i > 0 && empty(*random) ? 0 : 4 * floats(*random);
    layer.forward_us = time(*random);
    layer.backward_us = time(*random);
    layer.backward_start_us = start;
    start += layer.backward_us;
  }
  timeline.end_us = start;
  timeline.optimizer_us = time(*random);
  return timeline;
}

}  // namespace weft
