// Auto: the strategy and its settings, from the timeline and the links. planner.h says how it chooses.
#pragma once

#include "common/plan/plan.h"
#include "common/status.h"
#include "coordinator/planner/planner.h"

namespace weft {

inline constexpr double kNearTie = 0.02;

// The request's sizes and timeline are checked already. The groups have no layer names yet.
Result<Plan> MakeAutoPlan(const PlanRequest& request);

}  // namespace weft
