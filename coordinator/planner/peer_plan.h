// Plans for the strategies without servers.
#pragma once

#include "common/plan/plan.h"
#include "common/status.h"
#include "coordinator/planner/planner.h"

namespace weft {

// `strategy` is none with servers and not Auto; the request's own is not looked at, its sizes and timeline are checked
// already. The groups have no layer names yet. INVALID_ARGUMENT: peer links of another number, or with values that are
// negative or not finite.
Result<Plan> MakePeerPlan(const PlanRequest& request, StrategyType strategy);

}  // namespace weft
