// Checkpoints of a whole run: the centre and every worker's weights, optimizer and plane state, gathered by the rank
// that writes (RankContext::writer_rank; common/rundir/checkpoint.h, docs/format/checkpoint.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/dataplane/parameter_server.h"
#include "agent/train/rank_context.h"
#include "agent/train/state_exchange.h"
#include "common/plan/plan.h"
#include "common/status.h"

namespace weft {

// What the writer itself puts into a checkpoint: a server its part of the centre, where there is one, a worker its
// state.
struct OwnState {
  const CentreSnapshot* centre = nullptr;
  const StateMessage* worker = nullptr;
};

// On the writer, while all workers stand at the end of `iteration`, or of kOwnIteration: gathers, lets the workers go
// on, writes, and removes checkpoints beyond checkpoint.keep. Returns the path of the checkpoint's JSON.
// CANCELLED: no model in it would be finite; the coordinator was told. Other errors: a peer's, a disk's. DATA_LOSS: a
// worker sent its state of another iteration.
Result<std::string> SaveRun(RankContext& context, const Plan& plan, std::int64_t iteration, const OwnState& own);

struct RestoredRun {
  std::int64_t iteration = 0;  // the last that is in it
  std::vector<float> centre;   // the mean of the workers, where there is no centre
  StateMessage worker;         // this rank's own state, when it is a worker
  std::string note;            // for the person: what could not be restored; empty: everything was
};

// On the writer, in Prepare, with context.checkpoint set: reads and verifies it, sends each other worker its state and
// each other server the centre. With another number of workers than the checkpoint's, workers start from the centre
// with fresh optimizer state, and the note says so. INVALID_ARGUMENT: torn, foreign, or of another model. A peer's
// errors.
Result<RestoredRun> RestoreRun(RankContext& context);

}  // namespace weft
