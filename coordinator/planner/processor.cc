#include "coordinator/planner/processor.h"

#include "coordinator/planner/peer_traffic.h"

namespace weft {

double ProcessorCostUs(const Plan& plan, const PlanRequest& request) {
  const auto bytes = static_cast<double>(plan.groups[0].bytes);
  switch (plan.strategy) {
    case StrategyType::kDPSGD:
      return kPassUsPerByte * bytes * (DegreesOf(plan.strategy, request).most + 2);
    case StrategyType::kSwarm:
      return 2 * kPassUsPerByte * bytes;
    case StrategyType::kADPSGD:
      return 5 * kPassUsPerByte * bytes;
    default:
      return 3 * kPassUsPerByte * bytes;
  }
}

SwarmCosts SwarmCostsOf(const Plan& plan) {
  const double pass = kPassUsPerByte * static_cast<double>(plan.groups[0].bytes);
  const double code = plan.quantization_bits == 0 ? pass : kCodeUsPerByte * static_cast<double>(plan.groups[0].bytes);
  // Half of the difference before the delta is encoded; the weights taken before the model is.
  return {.decode_us = code / 3, .encode_us = code + pass, .publish_us = code + pass};
}

}  // namespace weft
