// What a rank does with the coordinator's words, by role. Called from the rank's main thread unless said otherwise.
#pragma once

#include <cstdint>
#include <memory>

#include "agent/train/pause_gate.h"
#include "agent/train/rank_context.h"
#include "common/plan/plan.h"
#include "common/status.h"
#include "proto/coordinator.pb.h"

namespace weft {

class Role {
 public:
  virtual ~Role() = default;

  // After PrepareContext: takes the state of the checkpoint, where there is one. Adds to `ready` what the coordinator
  // and the person should know.
  virtual Status Prepare(v1::Ready& ready) = 0;
  virtual Status MeasureProfile(const v1::MeasureProfile& request) = 0;
  virtual Status MeasureLink(const v1::MeasureLink& request) = 0;

  // A worker trains until the end of the run or until it is stopped; a stop asked for by the coordinator is OK. A
  // server starts to serve, on threads of its own, and returns.
  virtual Status Train(const Plan& plan, const v1::Train& request) = 0;

  // All workers stand at the end of the iteration. Theirs is done by then, inside Train; servers save.
  virtual Status OnPause(const v1::CommitPause& pause) = 0;

  // Every second in which the coordinator says nothing.
  virtual void OnIdle() = 0;

  // May this rank still pause at the end of `iteration`? On the client's thread, also while Train runs.
  virtual PauseGate::Vote VoteOnPause(std::int64_t iteration) = 0;
};

std::unique_ptr<Role> MakeWorker(RankContext& context);
std::unique_ptr<Role> MakeServer(RankContext& context);

}  // namespace weft
