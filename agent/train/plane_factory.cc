#include "agent/train/plane_factory.h"

#include <optional>
#include <utility>

#include "agent/dataplane/parameter_server_worker.h"
#include "agent/dataplane/peer_plane.h"

namespace weft {
namespace {

// Swarm's lead where each worker has samples of its own kind, in rounds of H: what docs/results.md measures.
constexpr int kSkewedLeadRounds = 8;

// The spec of the overlay graph; null where the strategy has none.
const TopologySpec* TopologyOf(const StrategySpec& spec, StrategyType strategy) {
  switch (strategy) {
    case StrategyType::kSwarm:
      return &spec.swarm.topology;
    case StrategyType::kDPSGD:
    case StrategyType::kADPSGD:
    case StrategyType::kSGP:
      return &spec.decentralized.topology;
    default:
      return nullptr;
  }
}

const SlowMoSpec& SlowMoOf(const StrategySpec& spec, StrategyType strategy) {
  if (strategy == StrategyType::kSwarm) return spec.swarm.slow;
  return strategy == StrategyType::kLocalSGD ? spec.local_sgd.slow : spec.decentralized.slow;
}

Result<PeerPlaneOptions> PeerOptions(const RankContext& context, const Plan& plan) {
  const StrategySpec& spec = context.job.strategy;
  PeerPlaneOptions options;
  options.generation = context.generation;
  options.seed = context.job.training.seed;
  options.peer_timeout = context.peer_timeout;
  if (const TopologySpec* topology = TopologyOf(spec, plan.strategy); topology != nullptr && plan.workers > 1) {
    WEFT_ASSIGN_OR_RETURN(options.topology, Topology::Make(*topology, plan.workers, options.seed));
  }
  options.local_steps_distribution = spec.swarm.local_steps_distribution;
  const bool skewed = context.job.data.partition == PartitionType::kLabelSkew;
  options.max_lead = spec.swarm.max_lead.value_or(skewed ? kSkewedLeadRounds * plan.period : 0);
  options.rotation = spec.swarm.quantization_rotation;
  options.order = spec.decentralized.order;
  options.overlap = spec.decentralized.overlap;
  options.slow_momentum = SlowMoOf(spec, plan.strategy).momentum;
  options.slow_rate = SlowMoOf(spec, plan.strategy).rate;
  options.slow_period = spec.decentralized.slow_period;
  return options;
}

}  // namespace

Result<std::unique_ptr<DataPlane>> MakePlane(RankContext& context, const Plan& plan, LocalStep local_step,
                                             std::function<double(std::int64_t)> learning_rate,
                                             std::function<void(std::int64_t)> reset_optimizer) {
  Model& model = *context.model;
  ModelView view{.weights = model.weights(), .gradients = model.gradients(), .layers = {}};
  for (const Layer& layer : model.layers()) view.layers.push_back({layer.first, layer.count});
  if (UsesParameterServers(plan.strategy)) {
    return MakeParameterServerWorker(PlaneOptions(context, plan), plan, view, std::move(local_step), *context.transport,
                                     *context.clock);
  }
  WEFT_ASSIGN_OR_RETURN(PeerPlaneOptions options, PeerOptions(context, plan));
  options.learning_rate = std::move(learning_rate);
  options.reset_optimizer = std::move(reset_optimizer);
  return MakePeerPlane(options, plan, view, std::move(local_step), *context.transport, *context.clock);
}

}  // namespace weft
