// Plays a plan event by event: P workers, S servers, the links between them, uneven compute. `cost_model.h` gives the
// same figures for even workers in closed form; this answers what-ifs and is held against measured runs.
//
// The network: every worker and every server has one full-duplex port as fast as the fastest of its links; what moves
// through a port in one direction at a time shares it evenly. A transfer takes its link's latency and then moves.
//
// InterleavedPS: a worker asks at its slot's start. With admission a server serves one worker at a time, in the order
// in which requests arrive; a request that finds it idle costs a round trip (request and grant), one that waits has its
// grant sent ahead. Push and reply move together, one in each direction. A request for a round waits until the round
// before is committed (all workers pushed): the staleness bound. Deadline: the group's next forward waits for the pull;
// Late: its next step does. Slots count from the worker's own start of the iteration.
//
// MergedPS, BulkSynchronousPS: a worker pushes a group when its gradient is ready, in order; when all have, the server
// replies to all, in order; the group's next forward waits.
#pragma once

#include <cstdint>
#include <vector>

#include "common/plan/plan.h"
#include "coordinator/planner/links.h"

namespace weft {

struct SimulationOptions {
  Apply apply = Apply::kDeadline;
  bool admission = true;
  double compute_jitter = 0;     // standard deviation of an iteration's compute, as a share of it
  std::uint64_t seed = 1;        // of the jitter
  std::vector<double> slowdown;  // by worker: its compute takes so many times as long; empty: 1 for all
  int iterations = 0;            // measured ones, after as many periods to settle; 0: enough for a steady figure
};

struct SimulationResult {
  double iteration_us = 0;             // mean over workers and iterations
  double compute_us = 0;               // the timeline's, of a worker without slowdown
  double stall_us = 0;                 // mean of an iteration's waiting
  std::vector<double> group_stall_us;  // by group: the longest a worker waited for it in one iteration
  double link_use = 0;                 // share of time for which the busiest server serves anyone
  double concurrent_share = 0;         // share of time with more than one transfer moving in one direction there
  double peak_bytes_per_second = 0;    // at any server, one direction, over windows of 10 ms
  double bytes_per_iteration = 0;      // that all servers receive
  double staleness_wait_us = 0;        // mean of an iteration's waiting of requests for the round before
};

// The plan must be one that MakePlan made for this timeline and these links. Deterministic.
SimulationResult Simulate(const Plan& plan, const Timeline& timeline, const LinkTable& links,
                          const SimulationOptions& options);

}  // namespace weft
