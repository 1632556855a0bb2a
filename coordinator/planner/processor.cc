#include "coordinator/planner/processor.h"

#include "coordinator/planner/peer_traffic.h"

namespace weft {

double ProcessorCostUs(const Plan& plan, const PlanRequest& request) {
  const auto bytes = static_cast<double>(plan.groups[0].bytes);
  switch (plan.strategy) {
    case StrategyType::kDPSGD:
      return kPassUsPerByte * bytes * (DegreesOf(plan.strategy, request).most + 2);
    case StrategyType::kSwarm:
      return (kCodeUsPerByte + 2 * kPassUsPerByte) * bytes;
    default:
      return 3 * kPassUsPerByte * bytes;
  }
}

}  // namespace weft
