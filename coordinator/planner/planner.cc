#include "coordinator/planner/planner.h"

#include <string>

#include "coordinator/planner/auto_plan.h"
#include "coordinator/planner/peer_plan.h"
#include "coordinator/planner/server_plan.h"

namespace weft {
namespace {

constexpr int kMaxWorkers = 4096;
constexpr int kMaxServers = 1024;
constexpr int kMaxPeriod = 1'000'000;

Status CheckRange(const char* path, int value, int lowest, int highest) {
  if (value < lowest) {
    return InvalidArgumentError(std::string(path) + ": " + std::to_string(value) + " is below " +
                                std::to_string(lowest));
  }
  if (value > highest) {
    return InvalidArgumentError(std::string(path) + ": " + std::to_string(value) + " is above " +
                                std::to_string(highest));
  }
  return OkStatus();
}

Status CheckTopology(const char* path, const std::optional<Topology>& topology, int workers) {
  if (!topology.has_value() || topology->nodes() == workers) return OkStatus();
  return InvalidArgumentError(std::string(path) + ": " + std::to_string(topology->nodes()) + " nodes for " +
                              std::to_string(workers) + " workers");
}

Status Check(const PlanRequest& request) {
  WEFT_RETURN_IF_ERROR(CheckRange("workers", request.workers, 1, kMaxWorkers));
  WEFT_RETURN_IF_ERROR(
      CheckRange("servers", request.servers, UsesParameterServers(request.strategy) ? 1 : 0, kMaxServers));
  WEFT_RETURN_IF_ERROR(CheckRange("period", request.options.period, 0, kMaxPeriod));
  WEFT_RETURN_IF_ERROR(CheckRange("local steps", request.peers.local_steps, 1, kMaxPeriod));
  WEFT_RETURN_IF_ERROR(CheckRange("max staleness", request.max_staleness, 1, kMaxPeriod));
  if (request.peers.quantization_bits != 0) {
    WEFT_RETURN_IF_ERROR(CheckRange("quantization bits", request.peers.quantization_bits, 2, 16));
  }
  WEFT_RETURN_IF_ERROR(CheckTopology("swarm topology", request.peers.swarm_topology, request.workers));
  WEFT_RETURN_IF_ERROR(CheckTopology("topology", request.peers.gossip_topology, request.workers));
  if (request.timeline.total_bytes() == 0) return InvalidArgumentError("layers: none has parameters");
  if (!(request.timeline.compute_us() > 0)) return InvalidArgumentError("layers: compute takes no time");
  return OkStatus();
}

void SetNames(const Timeline& timeline, Plan* plan) {
  for (PlanGroup& group : plan->groups) {
    for (int i = group.last_layer; i >= group.first_layer; --i) {
      group.layers.push_back(timeline.layers[static_cast<std::size_t>(i)].name);
    }
  }
}

Result<Plan> PlanFor(const PlanRequest& request) {
  if (request.strategy == StrategyType::kAuto) return MakeAutoPlan(request);
  return UsesParameterServers(request.strategy) ? MakeServerPlan(request, request.strategy)
                                                : MakePeerPlan(request, request.strategy);
}

}  // namespace

Result<Plan> MakePlan(const PlanRequest& request) {
  WEFT_RETURN_IF_ERROR(Check(request));
  WEFT_ASSIGN_OR_RETURN(Plan plan, PlanFor(request));
  SetNames(request.timeline, &plan);
  return plan;
}

}  // namespace weft
