// The simulation of the strategies with parameter servers: simulator.h says what is modelled.
#pragma once

#include "coordinator/planner/links.h"
#include "coordinator/planner/planner.h"
#include "coordinator/planner/simulator.h"

namespace weft {

SimulationResult SimulateServers(const Plan& plan, const PlanRequest& request, const LinkTable& links,
                                 const SimulationOptions& options);

}  // namespace weft
