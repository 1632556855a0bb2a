// What a plan will cost: a cheap prediction with equal workers and no jitter, O(groups x workers), for choosing among
// hundreds of plans. The simulator (simulator.h) plays the same protocol event by event, with everything uneven.
#pragma once

#include <vector>

#include "common/plan/plan.h"
#include "coordinator/planner/links.h"

namespace weft {

struct Prediction {
  double iteration_us = 0;             // compute plus the mean stall
  double link_use = 0;                 // share of time for which the busiest server's link is busy, 0 to 1
  std::vector<double> group_stall_us;  // by group: of the worst worker, in an iteration in which the group synchronizes
  std::vector<double> group_done_us;  // MergedPS, BulkSynchronousPS: the group's last reply, from the start of backward
};

// Uses the plan's strategy, sizes, period, windows and shards. One worker exchanges nothing and so never stalls.
//
// InterleavedPS: a server's link serves one worker at a time, in the order of the slots, each for alpha + beta b, from
// its slot's start (with admission two latencies later, for request and grant) or when the link is free. The group's
// next forward (Deadline) or next step (Late) waits for the worst worker. MergedPS, BulkSynchronousPS: all workers push
// a group when its gradient is ready and share the server's link; when all are in, the server replies to all, and the
// group's next forward waits:
//   push_g = Shared(ready_g + alpha, c_g),  pull_g = Shared(push_g + alpha, c_g),
//   c_g = beta max(P b_gs, b_g) for the b_gs bytes of group g on server s,
// Shared being when a transfer ends that begins then, takes so long alone, and shares the port evenly with the others.
Prediction Predict(const Plan& plan, const Timeline& timeline, const LinkTable& links, Apply apply, bool admission);

}  // namespace weft
