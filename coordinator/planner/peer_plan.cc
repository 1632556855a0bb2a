#include "coordinator/planner/peer_plan.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "coordinator/planner/buckets.h"
#include "coordinator/planner/fusion.h"
#include "coordinator/planner/links.h"
#include "coordinator/planner/peer_cost.h"
#include "coordinator/planner/peer_traffic.h"
#include "coordinator/planner/reason.h"

namespace weft {
namespace {

int PeriodOf(StrategyType strategy, const PlanRequest& request) {
  const bool local = strategy == StrategyType::kLocalSGD || strategy == StrategyType::kSwarm;
  return local ? request.peers.local_steps : 1;
}

std::vector<LayerRun> RunsOf(StrategyType strategy, const PlanRequest& request, const Link& link, Fusion* fusion) {
  if (!ExchangesBuckets(strategy, request)) {
    *fusion = Fusion::kBalanced;
    return FuseBalanced(request.timeline, 1);
  }
  // Balanced is made for phases, and there is one.
  *fusion = request.options.fusion == Fusion::kBalanced ? Fusion::kOptimal : request.options.fusion;
  return Fuse(*fusion, request.timeline, BucketCost(strategy, request, link));
}

}  // namespace

Result<Plan> MakePeerPlan(const PlanRequest& request, StrategyType strategy) {
  WEFT_ASSIGN_OR_RETURN(const PeerLinks links, PeerLinks::Make(request.peer_links, request.workers));
  const Timeline& timeline = request.timeline;
  Plan plan;
  plan.strategy = strategy;
  plan.workers = request.workers;
  plan.servers = request.servers;
  plan.period = PeriodOf(strategy, request);
  plan.quantization_bits = strategy == StrategyType::kSwarm ? request.peers.quantization_bits : 0;
  plan.phase = request.options.phase;
  plan.window = request.options.window;
  plan.tail = request.options.tail;
  plan.forward_us = timeline.forward_us();
  plan.compute_us = timeline.compute_us();
  for (const LayerRun& run : RunsOf(strategy, request, links.worst(), &plan.fusion)) {
    PlanGroup group;
    group.index = static_cast<int>(plan.groups.size());
    group.phase = GroupPhase(plan, group.index);
    group.first_layer = run.first_layer;
    group.last_layer = run.last_layer;
    group.bytes = run.bytes;
    plan.groups.push_back(group);
    plan.wire_bytes += TrafficOf(strategy, request, run.bytes).sent_bytes / plan.period;
  }
  PredictPeers(request, links, &plan);
  plan.reason = PeerReason(plan);
  return plan;
}

}  // namespace weft
