#include "common/plan/json.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "common/plan/json_reader.h"
#include "common/plan/names.h"

namespace weft {

using nlohmann::json;
using nlohmann::ordered_json;
using plan_json::Fields;

namespace {

constexpr int kMaxRanks = 1 << 20;
constexpr double kMaxWireBytes = 1e18;

// What goes with the strategy and what does not.
Status CheckStrategy(const Plan& plan, bool has_shards) {
  const std::string name = Name(plan.strategy);
  if (plan.strategy == StrategyType::kAuto) return InvalidArgumentError("strategy: Auto is none that a plan can have");
  if (UsesParameterServers(plan.strategy)) {
    if (plan.servers < 1) return InvalidArgumentError("servers: 0 is below 1, which " + name + " needs");
  } else if (has_shards) {
    return InvalidArgumentError("shards: " + name + " has none");
  }
  if (plan.quantization_bits == 0) return OkStatus();
  if (plan.strategy != StrategyType::kSwarm) {
    return InvalidArgumentError("quantization_bits: " + std::to_string(plan.quantization_bits) + ", but " + name +
                                " sends floats");
  }
  if (plan.quantization_bits == 1) return InvalidArgumentError("quantization_bits: 1 is neither 0 nor in 2..16");
  return OkStatus();
}

Result<PlanGroup> ParseGroup(const json& value, const std::string& path) {
  PlanGroup group;
  Fields fields(value, path);
  fields.Integer("index", 0, std::numeric_limits<int>::max(), &group.index);
  fields.Integer("phase", 0, std::numeric_limits<int>::max(), &group.phase);
  fields.Integer("first_layer", 0, std::numeric_limits<int>::max(), &group.first_layer);
  fields.Integer("last_layer", 0, std::numeric_limits<int>::max(), &group.last_layer);
  fields.Integer("bytes", 0, plan_json::kMaxBytes, &group.bytes);
  if (const json* layers = fields.Array("layers")) {
    for (const json& layer : *layers) {
      if (layer.is_string()) {
        group.layers.push_back(layer.get<std::string>());
      } else {
        fields.Fail("layers", plan_json::Shown(layer) + " is not a text");
      }
    }
  }
  if (const json* window = fields.Array("window_us")) {
    if (window->size() == 2 && (*window)[0].is_number() && (*window)[1].is_number()) {
      group.window_from_us = (*window)[0].get<double>();
      group.window_to_us = (*window)[1].get<double>();
      if (group.window_to_us < group.window_from_us) fields.Fail("window_us", "ends before it begins");
    } else {
      fields.Fail("window_us", plan_json::Shown(*window) + " is not [from, to]");
    }
  }
  fields.Time("slot_us", &group.slot_us);
  fields.Time("transfer_us", &group.transfer_us);
  fields.Time("stall_us", &group.stall_us);
  WEFT_RETURN_IF_ERROR(fields.status());
  return group;
}

Status CheckGroups(const Plan& plan) {
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const PlanGroup& group = plan.groups[i];
    const std::string path = "groups[" + std::to_string(i) + "]";
    const auto index = static_cast<int>(i);
    if (group.index != index) {
      return InvalidArgumentError(path + ".index: " + std::to_string(group.index) + " is not " + std::to_string(index));
    }
    const int phase = GroupPhase(plan, index);
    if (group.phase != phase) {
      return InvalidArgumentError(path + ".phase: " + std::to_string(group.phase) + " is not " + std::to_string(phase) +
                                  ", which the index gives");
    }
    const bool ordered = group.first_layer <= group.last_layer;
    const bool follows = i == 0 || group.last_layer + 1 == plan.groups[i - 1].first_layer;
    if (!ordered || !follows) {
      return InvalidArgumentError(path + ".last_layer: " + std::to_string(group.last_layer) +
                                  " does not follow the group before");
    }
    if (group.layers.size() != static_cast<std::size_t>(group.last_layer - group.first_layer) + 1) {
      return InvalidArgumentError(path + ".layers: " + std::to_string(group.layers.size()) +
                                  " names for another number of layers");
    }
  }
  if (plan.groups.back().first_layer != 0) return InvalidArgumentError("groups: do not reach layer 0");
  return OkStatus();
}

// Sorted by their first float, the shards follow one another from 0, and the groups come in descending order, each at
// least as large as its bytes.
Status CheckShards(const Plan& plan) {
  std::vector<Shard> sorted = plan.shards;
  std::sort(sorted.begin(), sorted.end(), [](const Shard& a, const Shard& b) { return a.first < b.first; });
  std::int64_t next = 0;
  int group = static_cast<int>(plan.groups.size()) - 1;
  std::int64_t in_group = 0;
  for (const Shard& shard : sorted) {
    if (shard.first != next) {
      return InvalidArgumentError("shards: none begins at float " + std::to_string(next));
    }
    if (shard.group != group) {
      const bool complete = in_group >= FloatsOf(plan.groups[static_cast<std::size_t>(group)].bytes);
      if (shard.group != group - 1 || !complete) {
        return InvalidArgumentError("shards: float " + std::to_string(next) + " is not of group " +
                                    std::to_string(shard.group));
      }
      group = shard.group;
      in_group = 0;
    }
    in_group += shard.count;
    next += shard.count;
  }
  if (group != 0 || in_group < FloatsOf(plan.groups[0].bytes)) {
    return InvalidArgumentError("shards: do not hold all floats of group " + std::to_string(group));
  }
  return OkStatus();
}

Result<Shard> ParseShard(const json& value, const std::string& path, const Plan& plan) {
  Shard shard;
  Fields fields(value, path);
  fields.Integer("group", 0, static_cast<int>(plan.groups.size()) - 1, &shard.group);
  fields.Integer("server", 0, plan.servers - 1, &shard.server);
  fields.Integer("first", 0, plan_json::kMaxBytes, &shard.first);
  fields.Integer("count", 1, plan_json::kMaxBytes, &shard.count);
  WEFT_RETURN_IF_ERROR(fields.status());
  return shard;
}

}  // namespace

std::string PlanToJson(const Plan& plan) {
  ordered_json groups = ordered_json::array();
  for (const PlanGroup& group : plan.groups) {
    groups.push_back({{"index", group.index},
                      {"phase", group.phase},
                      {"layers", group.layers},
                      {"first_layer", group.first_layer},
                      {"last_layer", group.last_layer},
                      {"bytes", group.bytes},
                      {"window_us", ordered_json::array({group.window_from_us, group.window_to_us})},
                      {"slot_us", group.slot_us},
                      {"transfer_us", group.transfer_us},
                      {"stall_us", group.stall_us}});
  }
  ordered_json shards = ordered_json::array();
  for (const Shard& shard : plan.shards) {
    shards.push_back(
        {{"group", shard.group}, {"server", shard.server}, {"first", shard.first}, {"count", shard.count}});
  }
  ordered_json out = {{"strategy", Name(plan.strategy)},
                      {"workers", plan.workers},
                      {"servers", plan.servers},
                      {"period", plan.period},
                      {"quantization_bits", plan.quantization_bits},
                      {"fusion", Name(plan.fusion)},
                      {"phase", Name(plan.phase)},
                      {"window", Name(plan.window)},
                      {"tail", Name(plan.tail)},
                      {"forward_us", plan.forward_us},
                      {"compute_us", plan.compute_us},
                      {"iteration_us", plan.iteration_us},
                      {"link_use", plan.link_use},
                      {"wire_bytes", plan.wire_bytes},
                      {"reason", plan.reason}};
  if (plan.from_iteration > 1) {
    out["from_iteration"] = plan.from_iteration;
    out["cause"] = plan.cause;
  }
  out["groups"] = std::move(groups);
  out["shards"] = std::move(shards);
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Result<Plan> ParsePlan(std::string_view text) {
  WEFT_ASSIGN_OR_RETURN(const json root, plan_json::ParseObject(text));
  Plan plan;
  Fields top(root, "");
  top.Enum("strategy", &plan.strategy);
  top.Integer("workers", 1, kMaxRanks, &plan.workers);
  top.Integer("servers", 0, kMaxRanks, &plan.servers);
  top.Integer("period", 1, std::numeric_limits<int>::max(), &plan.period);
  top.Integer("quantization_bits", 0, 16, &plan.quantization_bits);
  top.Enum("fusion", &plan.fusion);
  top.Enum("phase", &plan.phase);
  top.Enum("window", &plan.window);
  top.Enum("tail", &plan.tail);
  top.Time("forward_us", &plan.forward_us);
  top.Time("compute_us", &plan.compute_us);
  top.Time("iteration_us", &plan.iteration_us);
  top.Time("link_use", &plan.link_use);
  top.Number("wire_bytes", 0, kMaxWireBytes, &plan.wire_bytes);
  top.Text("reason", &plan.reason);
  if (root.contains("from_iteration")) {
    top.Integer("from_iteration", 2, std::numeric_limits<std::int64_t>::max(), &plan.from_iteration);
    top.Text("cause", &plan.cause);
  }
  const json* groups = top.Array("groups");
  const json* shards = top.Array("shards");
  WEFT_RETURN_IF_ERROR(top.status());
  WEFT_RETURN_IF_ERROR(CheckStrategy(plan, !shards->empty()));
  if (groups->empty()) return InvalidArgumentError("groups: is empty");
  for (std::size_t i = 0; i < groups->size(); ++i) {
    WEFT_ASSIGN_OR_RETURN(PlanGroup group, ParseGroup((*groups)[i], "groups[" + std::to_string(i) + "]"));
    plan.groups.push_back(std::move(group));
  }
  WEFT_RETURN_IF_ERROR(CheckGroups(plan));
  for (std::size_t i = 0; i < shards->size(); ++i) {
    WEFT_ASSIGN_OR_RETURN(const Shard shard, ParseShard((*shards)[i], "shards[" + std::to_string(i) + "]", plan));
    plan.shards.push_back(shard);
  }
  if (UsesParameterServers(plan.strategy)) WEFT_RETURN_IF_ERROR(CheckShards(plan));
  return plan;
}

}  // namespace weft
