#include "agent/dataplane/peer_plane.h"

#include <string>
#include <utility>

#include "agent/dataplane/adpsgd.h"
#include "agent/dataplane/all_reduce.h"
#include "agent/dataplane/dpsgd.h"
#include "agent/dataplane/local_sgd.h"
#include "agent/dataplane/lone_worker.h"
#include "agent/dataplane/peer_worker.h"
#include "agent/dataplane/sgp.h"
#include "agent/dataplane/slow_momentum.h"
#include "agent/dataplane/swarm_worker.h"

namespace weft {
namespace {

bool NeedsTopology(StrategyType strategy) {
  return strategy == StrategyType::kSwarm || strategy == StrategyType::kDPSGD || strategy == StrategyType::kADPSGD ||
         strategy == StrategyType::kSGP;
}

Status Validate(const PeerPlaneOptions& options, const Plan& plan, const ModelView& model, int rank) {
  if (model.weights.size() != model.gradients.size()) {
    return InvalidArgumentError("the model has " + std::to_string(model.weights.size()) + " weights and " +
                                std::to_string(model.gradients.size()) + " gradients");
  }
  if (plan.workers < 1 || rank >= plan.workers) {
    return InvalidArgumentError("rank " + std::to_string(rank) + " is none of the " + std::to_string(plan.workers) +
                                " workers");
  }
  if (plan.period < 1) return InvalidArgumentError("plan.period: " + std::to_string(plan.period) + " is below 1");
  WEFT_RETURN_IF_ERROR(SlowMomentum::Validate(options.slow_momentum, options.slow_rate));
  if (SlowMomentum::Changes(options.slow_momentum, options.slow_rate) && !options.learning_rate) {
    return InvalidArgumentError("slowMomentum: the learning rate that it divides by is not given");
  }
  if (options.slow_period < 1) {
    return InvalidArgumentError("slowPeriod: " + std::to_string(options.slow_period) + " is below 1");
  }
  // The tag's round has 256 values.
  if (options.overlap < 0 || options.overlap > 100) {
    return InvalidArgumentError("overlap: " + std::to_string(options.overlap) + " is not in [0, 100]");
  }
  if (!NeedsTopology(plan.strategy) || plan.workers == 1) return OkStatus();
  if (!options.topology.has_value()) return InvalidArgumentError("topology: it is not given");
  if (options.topology->nodes() != plan.workers) {
    return InvalidArgumentError("topology: it has " + std::to_string(options.topology->nodes()) + " nodes, not " +
                                std::to_string(plan.workers));
  }
  return OkStatus();
}

}  // namespace

Result<std::unique_ptr<DataPlane>> MakePeerPlane(const PeerPlaneOptions& options, const Plan& plan,
                                                 const ModelView& model, LocalStep local_step, Transport& transport,
                                                 Clock& clock) {
  WEFT_RETURN_IF_ERROR(Validate(options, plan, model, transport.rank()));
  WEFT_ASSIGN_OR_RETURN(PlanGroups groups, GroupsOf(plan, model));
  const PeerPlaneParts parts{.options = options,
                             .plan = plan,
                             .groups = std::move(groups),
                             .model = model,
                             .local_step = std::move(local_step),
                             .transport = transport,
                             .clock = clock};
  const bool alone = plan.workers == 1;
  std::unique_ptr<DataPlane> plane;
  switch (plan.strategy) {
    case StrategyType::kAllReduce:
      if (!alone) plane = std::make_unique<AllReduceWorker>(parts);
      break;
    case StrategyType::kLocalSGD:
      if (!alone) plane = std::make_unique<LocalSgdWorker>(parts);
      break;
    case StrategyType::kDPSGD:
      if (!alone) plane = std::make_unique<DpsgdWorker>(parts);
      break;
    case StrategyType::kSGP:
      if (!alone) plane = std::make_unique<SgpWorker>(parts);
      break;
    case StrategyType::kADPSGD:
      if (!alone) plane = std::make_unique<AdpsgdWorker>(parts);
      break;
    case StrategyType::kSwarm:
      if (!alone) return SwarmWorker::Make(parts);
      break;
    case StrategyType::kAuto:
    case StrategyType::kInterleavedPS:
    case StrategyType::kMergedPS:
    case StrategyType::kBulkSynchronousPS:
      return InvalidArgumentError("strategy.type: it is not one without servers");
  }
  if (alone) plane = MakeLoneWorker(plan.groups.size(), model, parts.local_step, clock);
  return plane;
}

}  // namespace weft
