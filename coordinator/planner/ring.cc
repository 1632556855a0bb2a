#include "coordinator/planner/ring.h"

#include <cstddef>

#include "coordinator/planner/fusion.h"
#include "coordinator/planner/processor.h"

namespace weft {

Link RingCost(const Link& link, int workers) {
  const double steps = 2.0 * (workers - 1);
  return {.latency_us = steps * link.latency_us, .us_per_byte = steps / workers * link.us_per_byte};
}

std::vector<RingGroup> RingGroupsOf(const Plan& plan, const Timeline& timeline, const Link& link) {
  const Link ring = RingCost(link, plan.workers);
  const bool all_reduce = plan.strategy == StrategyType::kAllReduce;
  const auto total = static_cast<double>(timeline.total_bytes());
  std::vector<RingGroup> groups(plan.groups.size());
  double stepped = 0;
  for (std::size_t n = 0; n < groups.size(); ++n) {
    const PlanGroup& group = plan.groups[n];
    const auto bytes = static_cast<double>(group.bytes);
    const double step = timeline.optimizer_us * bytes / total;
    stepped += step;
    groups[n].ready_us = RunReadyUs(timeline, {group.first_layer, group.last_layer, group.bytes});
    groups[n].sum_us = ring.latency_us + ring.us_per_byte * bytes;
    for (int l = group.first_layer; l <= group.last_layer; ++l) {
      groups[n].forward_us += timeline.layers[static_cast<std::size_t>(l)].forward_us;
    }
    // AllReduce copies the gradient into its bucket, divides the sum and copies it back; LocalSGD divides in place.
    if (all_reduce) {
      groups[n].ready_us += 2 * kPassUsPerByte * bytes;
      groups[n].settle_us = 2 * kPassUsPerByte * bytes + step;
    } else {
      groups[n].ready_us += stepped;
      groups[n].settle_us = kPassUsPerByte * bytes;
    }
  }
  return groups;
}

}  // namespace weft
