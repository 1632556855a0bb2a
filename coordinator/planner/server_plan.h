// Plans for the strategies with parameter servers: partitions and periods are tried with the cost model.
#pragma once

#include "common/plan/plan.h"
#include "common/status.h"
#include "coordinator/planner/planner.h"

namespace weft {

// `strategy` is InterleavedPS, MergedPS or BulkSynchronousPS; the request's own is not looked at, its sizes and
// timeline are checked already. The groups have no layer names yet. INVALID_ARGUMENT: links of another shape, or with
// values that are negative or not finite.
Result<Plan> MakeServerPlan(const PlanRequest& request, StrategyType strategy);

}  // namespace weft
