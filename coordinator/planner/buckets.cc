#include "coordinator/planner/buckets.h"

#include <algorithm>
#include <cstddef>

#include "coordinator/planner/fusion.h"
#include "coordinator/planner/peer_traffic.h"
#include "coordinator/planner/processor.h"

namespace weft {

bool ExchangesBuckets(StrategyType strategy, const PlanRequest& request) {
  return strategy == StrategyType::kAllReduce || strategy == StrategyType::kLocalSGD ||
         (strategy == StrategyType::kDPSGD && request.peers.order == CombineOrder::kAdaptThenCombine);
}

Link RingCost(const Link& link, int workers) {
  const double steps = 2.0 * (workers - 1);
  return {.latency_us = steps * link.latency_us, .us_per_byte = steps / workers * link.us_per_byte};
}

Link BucketCost(StrategyType strategy, const PlanRequest& request, const Link& link) {
  if (strategy != StrategyType::kDPSGD) return RingCost(link, request.workers);
  return {.latency_us = link.latency_us, .us_per_byte = link.us_per_byte * DegreesOf(strategy, request).most};
}

std::vector<Bucket> BucketsOf(const Plan& plan, const PlanRequest& request, const Link& link) {
  const Timeline& timeline = request.timeline;
  const Link cost = BucketCost(plan.strategy, request, link);
  const bool steps_behind = plan.strategy == StrategyType::kAllReduce;
  const auto total = static_cast<double>(timeline.total_bytes());
  std::vector<Bucket> buckets(plan.groups.size());
  double stepped = 0;
  for (std::size_t n = 0; n < buckets.size(); ++n) {
    const PlanGroup& group = plan.groups[n];
    const auto bytes = static_cast<double>(group.bytes);
    const double step = timeline.optimizer_us * bytes / total;
    stepped += step;
    buckets[n].ready_us = RunReadyUs(timeline, {group.first_layer, group.last_layer, group.bytes});
    buckets[n].exchange_us = cost.latency_us + cost.us_per_byte * bytes;
    for (int l = group.first_layer; l <= group.last_layer; ++l) {
      buckets[n].forward_us += timeline.layers[static_cast<std::size_t>(l)].forward_us;
    }
    if (steps_behind) {
      buckets[n].ready_us += kFillBucketUsPerByte * bytes;
      buckets[n].settle_us = kTakeSumUsPerByte * bytes + step;
    } else {
      buckets[n].ready_us += stepped;
      const double passes = plan.strategy == StrategyType::kDPSGD ? DegreesOf(plan.strategy, request).most + 1 : 1;
      buckets[n].settle_us = passes * kPassUsPerByte * bytes;
    }
  }
  return buckets;
}

}  // namespace weft
