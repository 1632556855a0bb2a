// AllReduce, LocalSGD, and DPSGD in its order AdaptThenCombine, as the cost model and the simulator see them: what the
// exchange of a bucket costs, and where in an iteration it may begin and must be done.
#pragma once

#include <vector>

#include "common/plan/plan.h"
#include "coordinator/planner/planner.h"

namespace weft {

// True for the strategies above: buckets are exchanged beside backward, and a bucket's next forward waits for it.
bool ExchangesBuckets(StrategyType strategy, const PlanRequest& request);

// What an all-reduce of b bytes costs when a link costs alpha + beta b': the ring's 2 (P-1) steps send b/P each,
//   alpha 2(P-1) + beta 2 b (P-1)/P.
// As a link: its latency, and its time per byte of the bucket.
Link RingCost(const Link& link, int workers);

// The same for what these strategies do with a bucket: the ring, or DPSGD's d copies through one port,
// alpha + beta d b.
Link BucketCost(StrategyType strategy, const PlanRequest& request, const Link& link);

// Times of a worker at the timeline's pace.
struct Bucket {
  double ready_us = 0;     // from the start of backward: what is exchanged is there
  double settle_us = 0;    // the processor's part when the others' is there, before its forward
  double forward_us = 0;   // of its layers
  double exchange_us = 0;  // by BucketCost
};

// By group. `link` is the worst of the peers'. AllReduce steps when a sum is there; the others step in backward, so
// that their buckets are ready later.
std::vector<Bucket> BucketsOf(const Plan& plan, const PlanRequest& request, const Link& link);

}  // namespace weft
