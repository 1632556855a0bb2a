// How fast simulated workers compute, and for how long to watch them. Internal to the simulators.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "coordinator/planner/simulator.h"

namespace weft {

// How many times the timeline's compute an iteration takes: the worker's slowdown, with jitter. Draws come in the order
// of the calls.
class Pace {
 public:
  explicit Pace(const SimulationOptions& options)
      : slowdown_(options.slowdown), jitter_(options.compute_jitter), random_(options.seed) {}

  double Next(int worker);

 private:
  const std::vector<double> slowdown_;
  const double jitter_;
  std::mt19937_64 random_;
};

// Iterations to measure: whole periods, as many as are `wanted`, or with 0 at least 32 unless there is very much to
// play.
int IterationsToMeasure(int period, int wanted, double transfers_per_iteration);

// Iterations before the `measured` ones: whole periods. A faster worker runs ahead by up to two periods before a
// staleness bound holds it to the slowest, at a lead of 1 - fast/slow an iteration.
int IterationsToSettle(int period, int measured, const std::vector<double>& slowdown);

}  // namespace weft
