// AllReduce and LocalSGD as the cost model and the simulator see them: what a bucket's sum over the ring costs, and
// where in an iteration it may begin and must be there.
#pragma once

#include <vector>

#include "common/plan/plan.h"
#include "coordinator/planner/planner.h"

namespace weft {

// What an all-reduce of b bytes costs when a link costs alpha + beta b': the ring's 2 (P-1) steps send b/P each,
//   alpha 2(P-1) + beta 2 b (P-1)/P.
// As a link: its latency, and its time per byte of the bucket.
Link RingCost(const Link& link, int workers);

// One bucket; times of a worker at the timeline's pace.
struct RingGroup {
  double ready_us = 0;  // from the start of backward: what it sums is there
  double settle_us =
      0;  // the processor's part when its sum is there, before its forward: the mean; AllReduce: the step
  double forward_us = 0;  // of its layers
  double sum_us = 0;      // the ring
};

// By group. `link` is the worst of the peers'. AllReduce steps when a sum is there; LocalSGD steps in backward, so that
// its buckets are ready later.
std::vector<RingGroup> RingGroupsOf(const Plan& plan, const Timeline& timeline, const Link& link);

}  // namespace weft
