// A worker's part of a checkpoint: weights, optimizer and plane state as named tensors, and back.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/dataplane/data_plane.h"
#include "agent/model/model.h"
#include "agent/train/optimizer.h"
#include "agent/train/state_exchange.h"
#include "common/status.h"

namespace weft {

// At the end of `iteration`, after the plane's Drain.
StateMessage TakeState(std::int64_t iteration, Model& model, Optimizer& optimizer, const DataPlane& plane);

// The weights alone, to be evaluated.
StateMessage TakeModel(std::int64_t iteration, bool final, Model& model);

// Overwrites weights and optimizer state by what the message has of them; what it does not have stays as it is. Returns
// the plane's tensors, for a plane that is still to be made.
// INVALID_ARGUMENT: a tensor that is not of this job, or has another size.
Result<std::vector<PlaneTensor>> PutState(const StateMessage& state, Model& model, Optimizer& optimizer);

}  // namespace weft
