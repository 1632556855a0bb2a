// Makes the data plane of a worker for the plan's strategy, with what the job says of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "agent/dataplane/data_plane.h"
#include "agent/train/rank_context.h"
#include "common/plan/plan.h"
#include "common/status.h"

namespace weft {

// `learning_rate` gives the optimizer's rate of a 1-based iteration, `reset_optimizer` forgets its state behind one
// (peer_plane.h). `context` and the model's arrays outlive the
// plane. Errors: as MakeParameterServerWorker and MakePeerPlane; a topology that is not one for so many workers.
Result<std::unique_ptr<DataPlane>> MakePlane(RankContext& context, const Plan& plan, LocalStep local_step,
                                             std::function<double(std::int64_t)> learning_rate,
                                             std::function<void(std::int64_t)> reset_optimizer);

}  // namespace weft
