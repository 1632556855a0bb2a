// Measures a model's timeline: how long each layer's forward and backward take, and the local step.
#pragma once

#include <vector>

#include "agent/model/model.h"
#include "common/clock.h"
#include "common/plan/plan.h"

namespace weft {

// Call BeginIteration, run a TrainStep with this as its observer, then EndBackward, the optimizer's step, EndIteration.
// One thread.
class LayerTimer : public LayerObserver {
 public:
  LayerTimer(const std::vector<Layer>& layers, Clock& clock);

  void BeginIteration();
  void EndBackward();
  void EndIteration();

  Status BeforeForward(int layer) override;
  Status AfterForward(int layer) override;
  Status BeforeBackward(int layer) override;
  Status GradientReady(int layer) override;

  // The median over all iterations but the first `warmup` of each figure by itself; backward starts and end are then
  // the sums of the backward medians, so that the layers tile backward without a gap.
  Timeline Median(int warmup) const;
  // Begin to end of each iteration but the first `warmup`.
  std::vector<double> IterationSeconds(int warmup) const;

 private:
  struct Iteration {
    std::vector<double> forward_us;
    std::vector<double> backward_us;
    double optimizer_us = 0;
    double total_us = 0;
  };

  const std::vector<Layer>& layers_;
  Clock& clock_;
  TimePoint begin_{};
  TimePoint mark_{};  // the start of the layer that runs, or the end of backward
  std::vector<Iteration> iterations_;
};

// The middle element, or the mean of the middle two. 0 for none.
double Median(std::vector<double> values);

}  // namespace weft
