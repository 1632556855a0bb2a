// The plan's groups as a worker runs them: each a run of the model's layers that is one range of its floats, cut into
// shards.
#pragma once

#include <vector>

#include "agent/dataplane/data_plane.h"
#include "common/plan/plan.h"
#include "common/status.h"

namespace weft {

struct WorkerGroup {
  int index = 0;
  int first_layer = 0;  // forward indices, both included
  int last_layer = 0;
  FloatRange range;           // may be empty: then nothing is exchanged
  std::vector<int> channels;  // its shards' indices in the plan
};

struct PlanGroups {
  std::vector<WorkerGroup> groups;  // by index
  std::vector<int> group_of_layer;  // by layer; -1: a layer without parameters in no group
};

// INVALID_ARGUMENT: a group's layers are not the model's or not one range of floats, a layer with parameters is in no
// group or in two, or a group's shards are not its floats. The plan's shards hold the model's floats exactly once.
Result<PlanGroups> GroupsOf(const Plan& plan, const ModelView& model);

}  // namespace weft
