#include "coordinator/planner/simulator.h"

#include <cstddef>

#include "common/check.h"
#include "coordinator/planner/bucket_simulator.h"
#include "coordinator/planner/buckets.h"
#include "coordinator/planner/gossip_simulator.h"
#include "coordinator/planner/links.h"
#include "coordinator/planner/server_simulator.h"

namespace weft {

Result<SimulationResult> Simulate(const Plan& plan, const PlanRequest& request, const SimulationOptions& options) {
  WEFT_CHECK(options.slowdown.empty() || options.slowdown.size() == static_cast<std::size_t>(plan.workers))
      << options.slowdown.size() << " slowdowns for " << plan.workers << " workers";
  if (UsesParameterServers(plan.strategy)) {
    WEFT_ASSIGN_OR_RETURN(const LinkTable links, LinkTable::Make(request.links, plan.workers, plan.servers));
    return SimulateServers(plan, request, links, options);
  }
  WEFT_ASSIGN_OR_RETURN(const PeerLinks links, PeerLinks::Make(request.peer_links, plan.workers));
  if (ExchangesBuckets(plan.strategy, request)) {
    return SimulateBuckets(plan, request, links, options);
  }
  return SimulateGossip(plan, request, links, options);
}

}  // namespace weft
