// SlowMo (Wang et al. 2020, Algorithm 1): an outer optimizer around any strategy with local steps. After some of its
// inner iterations, with x_start the weights after the outer step before, x what the inner strategy has made of them,
// and gamma the inner optimizer's learning rate:
//   u <- momentum u + (x_start - x) / gamma
//   x <- x_start - rate gamma u,   and x_start <- x.
// Two ways to call it: on weights, where this keeps x_start (LocalSGD, DPSGD, SGP), or on a displacement d = x -
// x_start that the caller keeps (Swarm). Momentum 0 and rate 1 give back x to rounding; a strategy then leaves it out
// (Changes), which costs neither memory nor time and keeps its bits.
//
// The paper's Algorithm 1 averages x over the workers before the step. LocalSGD does so by itself, so that all its
// workers keep the same u. DPSGD and SGP step without that average, each with its own x and u: the variant that the
// paper's experiments call "noaverage".
//
// Where gamma is 0 (a warm-up's first iteration, a schedule's end) there is no such u: x is taken as it is, u is kept.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "agent/dataplane/data_plane.h"
#include "common/status.h"

namespace weft {

class SlowMomentum {
 public:
  // Whether these rates change anything.
  static bool Changes(double momentum, double rate) { return momentum != 0 || rate != 1; }
  // INVALID_ARGUMENT: momentum outside [0, 1), rate not above 0.
  static Status Validate(double momentum, double rate);

  // For `count` floats. `start` is x_start, of as many; empty: for displacements only.
  SlowMomentum(double momentum, double rate, std::size_t count, std::span<const float> start);

  // `weights` are the floats of `range`: overwritten with the outer step's.
  void Step(FloatRange range, std::span<float> weights, double gamma);
  // The same on x - x_start.
  void StepDisplacement(FloatRange range, std::span<float> displacement, double gamma);

  // Adds "slow_momentum" (u) and, where it is kept, "slow_start" (x_start).
  void Save(std::vector<PlaneTensor>& tensors) const;
  Status Restore(const std::vector<PlaneTensor>& tensors);

 private:
  const float momentum_;
  const double rate_;
  std::vector<float> u_;
  std::vector<float> start_;
};

}  // namespace weft
