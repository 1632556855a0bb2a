// Checkpoints of a whole run: the centre and every worker's weights, optimizer and plane state, gathered by server 0,
// which writes them (common/rundir/checkpoint.h, docs/format/checkpoint.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/dataplane/parameter_server.h"
#include "agent/train/rank_context.h"
#include "common/plan/plan.h"
#include "common/status.h"

namespace weft {

// On server 0, while all workers stand at the end of `iteration`: gathers, lets the workers go on, writes, and removes
// checkpoints beyond checkpoint.keep. `own` is this server's part of the centre, null where the model is at the
// workers. Returns the path of the checkpoint's JSON. Errors: a peer's, a disk's.
Result<std::string> SaveRun(RankContext& context, const Plan& plan, std::int64_t iteration, const CentreSnapshot* own);

struct RestoredRun {
  std::int64_t iteration = 0;  // the last that is in it
  std::vector<float> centre;
  std::string note;  // for the person: what could not be restored; empty: everything was
};

// On server 0, in Prepare, with context.checkpoint set: reads and verifies it, sends each worker its state and each
// other server the centre. With another number of workers than the checkpoint's, workers start from the centre with
// fresh optimizer state, and the note says so.
// INVALID_ARGUMENT: torn, foreign, or of another model. A peer's errors.
Result<RestoredRun> RestoreRun(RankContext& context);

}  // namespace weft
