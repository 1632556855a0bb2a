// The simulation of DPSGD, SGP, ADPSGD and Swarm: simulator.h says what is modelled.
#pragma once

#include "common/status.h"
#include "coordinator/planner/links.h"
#include "coordinator/planner/planner.h"
#include "coordinator/planner/simulator.h"

namespace weft {

// INVALID_ARGUMENT: more transfers at a time than can be played.
Result<SimulationResult> SimulateGossip(const Plan& plan, const PlanRequest& request, const PeerLinks& links,
                                        const SimulationOptions& options);

}  // namespace weft
