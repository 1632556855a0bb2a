// The simulation of AllReduce, LocalSGD and DPSGD in its order AdaptThenCombine: simulator.h says what is modelled.
#pragma once

#include "coordinator/planner/links.h"
#include "coordinator/planner/planner.h"
#include "coordinator/planner/simulator.h"

namespace weft {

SimulationResult SimulateBuckets(const Plan& plan, const PlanRequest& request, const PeerLinks& links,
                                 const SimulationOptions& options);

}  // namespace weft
