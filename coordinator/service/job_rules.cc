#include "coordinator/service/job_rules.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "common/math/topology.h"
#include "common/plan/names.h"

namespace weft {
namespace {

bool IsGossip(StrategyType strategy) {
  return strategy == StrategyType::kDPSGD || strategy == StrategyType::kADPSGD || strategy == StrategyType::kSGP;
}

Result<std::optional<Topology>> TopologyFor(const JobSpec& job, const TopologySpec& spec) {
  if (job.worker.replicas == 1) return std::optional<Topology>();
  WEFT_ASSIGN_OR_RETURN(Topology topology, Topology::Make(spec, job.worker.replicas, job.training.seed));
  return std::optional<Topology>(std::move(topology));
}

}  // namespace

bool IsAsynchronous(const Plan& plan) {
  return plan.workers > 1 && (plan.strategy == StrategyType::kSwarm || plan.strategy == StrategyType::kADPSGD);
}

std::int64_t SketchPeriod(const Plan& plan) {
  const bool alike = plan.workers == 1 || plan.strategy == StrategyType::kMergedPS ||
                     plan.strategy == StrategyType::kBulkSynchronousPS || plan.strategy == StrategyType::kAllReduce;
  if (alike) return 0;
  constexpr double kSecondUs = 1e6;
  return std::max<std::int64_t>(1, std::llround(kSecondUs / std::max(plan.iteration_us, 1.0)));
}

void SetMeasurements(const JobSpec& job, GenerationOptions& options) {
  const StrategyType strategy = job.strategy.type;
  options.server_links = strategy == StrategyType::kAuto || UsesParameterServers(strategy);
  options.peer_links = !UsesParameterServers(strategy);
}

std::string TopologyName(const JobSpec& job, StrategyType strategy) {
  const bool swarm = strategy == StrategyType::kSwarm;
  if (!swarm && !IsGossip(strategy)) return "";
  const TopologyType type = (swarm ? job.strategy.swarm.topology : job.strategy.decentralized.topology).type;
  return TopologyNames().at(static_cast<std::size_t>(type));
}

Result<PlanRequest> SettingsOf(const JobSpec& job) {
  const ParameterServerSpec& spec = job.strategy.parameter_server;
  PlanRequest request;
  request.strategy = job.strategy.type;
  request.options.period = spec.period;
  request.options.fusion = spec.fusion;
  request.options.phase = spec.phase;
  request.options.window = spec.window;
  request.options.tail = spec.tail;
  request.options.apply = spec.apply;
  request.options.admission = spec.admission;
  request.max_staleness = job.strategy.max_staleness;
  request.peers.local_steps = job.strategy.type == StrategyType::kLocalSGD ? job.strategy.local_sgd.local_steps
                                                                           : job.strategy.swarm.local_steps;
  request.peers.quantization_bits = job.strategy.swarm.quantization_bits;
  request.peers.order = job.strategy.decentralized.order;
  request.peers.overlap = job.strategy.decentralized.overlap;
  request.peers.exchange_timeout_us = 1e6 * job.network.exchange_timeout_seconds;
  if (job.strategy.type == StrategyType::kSwarm) {
    WEFT_ASSIGN_OR_RETURN(request.peers.swarm_topology, TopologyFor(job, job.strategy.swarm.topology));
  } else if (IsGossip(job.strategy.type)) {
    WEFT_ASSIGN_OR_RETURN(request.peers.gossip_topology, TopologyFor(job, job.strategy.decentralized.topology));
  }
  request.workers = job.worker.replicas;
  request.servers = job.server.replicas;
  return request;
}

Result<PlanRequest> RequestFor(const JobSpec& job, const Measurements& measurements) {
  WEFT_ASSIGN_OR_RETURN(PlanRequest request, SettingsOf(job));
  request.timeline = measurements.SlowestTimeline();
  request.links = measurements.ServerLinks();
  request.peer_links = measurements.PeerLinks();
  return request;
}

Status CheckPlanFits(const Plan& plan, const JobSpec& job) {
  const auto differs = [](const std::string& field, const auto& value, const auto& expected) {
    return InvalidArgumentError("plan: " + field + " " + value + " is not the job's " + expected);
  };
  if (job.strategy.type != StrategyType::kAuto && plan.strategy != job.strategy.type) {
    return differs("strategy", std::string(Name(plan.strategy)), std::string(Name(job.strategy.type)));
  }
  if (plan.workers != job.worker.replicas) {
    return differs("workers", std::to_string(plan.workers), std::to_string(job.worker.replicas));
  }
  // Without parameter servers a plan has none, or those that its Auto job has, idle.
  const bool idle = !UsesParameterServers(plan.strategy) && plan.servers == 0;
  if (!idle && plan.servers != job.server.replicas) {
    return differs("servers", std::to_string(plan.servers), std::to_string(job.server.replicas));
  }
  return OkStatus();
}

}  // namespace weft
