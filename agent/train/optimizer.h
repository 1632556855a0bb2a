// The local step of a run: the optimizer's state for all weights, and the learning rate of each iteration.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "agent/dataplane/data_plane.h"
#include "common/job/job_spec.h"

namespace weft {

// One thread.
class Optimizer {
 public:
  // `weights` and `gradients` outlive it. `learning_rate` gives the rate of a 1-based iteration.
  // `running_statistics` are the ranges whose step is w <- w - kStatisticRate * gradient (agent/model/model.h).
  Optimizer(const OptimizerSpec& spec, std::span<float> weights, std::span<const float> gradients,
            std::function<double(std::int64_t)> learning_rate, std::vector<FloatRange> running_statistics = {});

  // weights[range] <- LocalStep(weights[range], gradients[range]) for `iteration`'s gradient (agent/core/update_rule.h
  // has the equations); the state of the range moves with it.
  void Step(FloatRange range, std::int64_t iteration);

  // As after construction: no step taken. The next one is that of `iteration` + 1.
  void Reset(std::int64_t iteration = 0);

  struct Slot {
    std::string name;  // "momentum"; "first_moment", "second_moment"
    std::span<float> values;
  };
  // The state, to be saved and restored; each as long as the weights.
  std::vector<Slot> state();

 private:
  void StepWeights(FloatRange range, std::int64_t iteration);
  void StepStatistics(FloatRange range);

  const OptimizerSpec spec_;
  const std::span<float> weights_;
  const std::span<const float> gradients_;
  const std::function<double(std::int64_t)> learning_rate_;
  const std::vector<FloatRange> running_statistics_;  // in order, without overlap
  std::vector<float> first_;                          // momentum, or the first moment
  std::vector<float> second_;                         // the second moment, for AdamW only
  std::int64_t reset_at_ = 0;                         // the moments hold the steps behind this iteration
};

}  // namespace weft
