#include "agent/dataplane/parameter_server_options.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "agent/transport/tag.h"

namespace weft {
namespace {

Status CheckRates(double center_rate, double elastic_rate) {
  for (const auto& [name, rate] : {std::pair{"centerRate", center_rate}, std::pair{"elasticRate", elastic_rate}}) {
    if (!std::isfinite(rate) || rate < 0 || rate >= 2) {
      return InvalidArgumentError(std::string(name) + ": " + std::to_string(rate) + " is outside [0, 2)");
    }
  }
  if (center_rate + elastic_rate >= 2) {
    return InvalidArgumentError("centerRate + elasticRate: " + std::to_string(center_rate + elastic_rate) +
                                " is not below 2, where averaging becomes unstable");
  }
  return OkStatus();
}

}  // namespace

Status ValidateParameterServer(const ParameterServerOptions& options, const Plan& plan, std::int64_t parameter_count) {
  if (plan.strategy != StrategyType::kInterleavedPS && plan.strategy != StrategyType::kMergedPS &&
      plan.strategy != StrategyType::kBulkSynchronousPS) {
    return InvalidArgumentError("the plan's strategy is not one of a parameter server");
  }
  if (plan.workers < 1) return InvalidArgumentError("plan.workers: " + std::to_string(plan.workers) + " is below 1");
  if (plan.servers < 1) return InvalidArgumentError("plan.servers: " + std::to_string(plan.servers) + " is below 1");
  if (plan.period < 1) return InvalidArgumentError("plan.period: " + std::to_string(plan.period) + " is below 1");
  if (options.peer_timeout <= Duration::zero()) return InvalidArgumentError("the peer time-out is not positive");
  WEFT_RETURN_IF_ERROR(CheckRates(options.center_rate, options.ElasticRate(plan.workers)));
  if (plan.shards.size() > static_cast<std::size_t>(Tag::kMaxChannel) + 1) {
    return InvalidArgumentError("plan.shards: " + std::to_string(plan.shards.size()) + " are more than the " +
                                std::to_string(Tag::kMaxChannel + 1) + " that a tag can number");
  }
  // Every float exactly once.
  std::vector<Shard> shards = plan.shards;
  std::sort(shards.begin(), shards.end(), [](const Shard& a, const Shard& b) { return a.first < b.first; });
  std::int64_t next = 0;
  for (const Shard& shard : shards) {
    const std::string place =
        "plan.shards: [" + std::to_string(shard.first) + ", +" + std::to_string(shard.count) + ")";
    if (shard.count < 1) return InvalidArgumentError(place + " is empty");
    if (shard.first != next) return InvalidArgumentError(place + " leaves a gap or overlaps");
    if (shard.server < 0 || shard.server >= plan.servers) {
      return InvalidArgumentError(place + " is on server " + std::to_string(shard.server) + " of " +
                                  std::to_string(plan.servers));
    }
    if (shard.group < 0 || static_cast<std::size_t>(shard.group) >= plan.groups.size()) {
      return InvalidArgumentError(place + " is of group " + std::to_string(shard.group) + " of " +
                                  std::to_string(plan.groups.size()));
    }
    next += shard.count;
  }
  if (next != parameter_count) {
    return InvalidArgumentError("plan.shards: they hold " + std::to_string(next) + " floats, the model " +
                                std::to_string(parameter_count));
  }
  return OkStatus();
}

}  // namespace weft
