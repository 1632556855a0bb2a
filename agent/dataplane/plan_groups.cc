#include "agent/dataplane/plan_groups.h"

#include <string>

namespace weft {
namespace {

// The floats of the group's layers, in one run.
Result<FloatRange> RangeOf(const WorkerGroup& group, const ModelView& model, const std::string& place) {
  FloatRange range;
  for (int l = group.first_layer; l <= group.last_layer; ++l) {
    const FloatRange& layer = model.layers[static_cast<std::size_t>(l)];
    if (layer.count == 0) continue;
    if (range.count == 0) range.first = layer.first;
    if (layer.first != range.first + range.count) {
      return InvalidArgumentError(place + ": layer " + std::to_string(l) + " does not follow the one before it");
    }
    range.count += layer.count;
  }
  return range;
}

}  // namespace

Result<PlanGroups> GroupsOf(const Plan& plan, const ModelView& model) {
  PlanGroups result;
  const int layers = static_cast<int>(model.layers.size());
  result.group_of_layer.assign(model.layers.size(), -1);
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const PlanGroup& planned = plan.groups[i];
    const std::string place = "plan.groups[" + std::to_string(i) + "]";
    WorkerGroup group{.index = static_cast<int>(i),
                      .first_layer = planned.first_layer,
                      .last_layer = planned.last_layer,
                      .range = {},
                      .channels = {}};
    if (group.first_layer < 0 || group.last_layer < group.first_layer || group.last_layer >= layers) {
      return InvalidArgumentError(place + ": layers " + std::to_string(group.first_layer) + " to " +
                                  std::to_string(group.last_layer) + " of " + std::to_string(layers));
    }
    for (int l = group.first_layer; l <= group.last_layer; ++l) {
      int& owner = result.group_of_layer[static_cast<std::size_t>(l)];
      if (owner >= 0) {
        return InvalidArgumentError(place + ": layer " + std::to_string(l) + " is in group " + std::to_string(owner) +
                                    " too");
      }
      owner = static_cast<int>(i);
    }
    WEFT_ASSIGN_OR_RETURN(group.range, RangeOf(group, model, place));
    result.groups.push_back(group);
  }
  for (int l = 0; l < layers; ++l) {
    if (model.layers[static_cast<std::size_t>(l)].count > 0 && result.group_of_layer[static_cast<std::size_t>(l)] < 0) {
      return InvalidArgumentError("plan.groups: layer " + std::to_string(l) + " is in none");
    }
  }
  for (std::size_t channel = 0; channel < plan.shards.size(); ++channel) {
    const Shard& shard = plan.shards[channel];
    WorkerGroup& group = result.groups[static_cast<std::size_t>(shard.group)];
    if (shard.first < group.range.first || shard.first + shard.count > group.range.first + group.range.count) {
      return InvalidArgumentError("plan.shards[" + std::to_string(channel) + "]: it is not within its group " +
                                  std::to_string(shard.group));
    }
    group.channels.push_back(static_cast<int>(channel));
  }
  return result;
}

}  // namespace weft
