// By how much each worker should shift its slots, so that all count them from one common start of the iteration. A
// worker says how long after its iteration's start its request left; the arrival less that is its start, on the
// server's clock. Pure; one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "common/clock.h"

namespace weft {

class PhaseEstimator {
 public:
  // `iteration` is how long one takes by the plan: workers that are a whole one apart need no shift. 0: never shift.
  PhaseEstimator(int workers, Duration iteration);

  void Report(int worker, std::int64_t iteration, TimePoint start);

  // Towards the workers' mean start, smoothed; later for a positive one. At most half of an iteration.
  Duration Correction(int worker) const { return corrections_[static_cast<std::size_t>(worker)]; }

 private:
  struct Iteration {
    std::int64_t number = 0;
    int reported = 0;
    std::vector<TimePoint> starts;  // by worker; the epoch: not reported
  };
  void Update(const std::vector<TimePoint>& starts);

  const std::size_t workers_;
  const Duration period_;
  std::deque<Iteration> open_;         // not all workers have reported; oldest first, at most 64
  std::vector<Duration> corrections_;  // by worker
};

}  // namespace weft
