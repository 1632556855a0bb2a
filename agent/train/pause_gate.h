// Makes all ranks pause at the end of one iteration. The coordinator proposes an iteration; a rank that has not passed
// it votes yes and from then on waits at its end for the coordinator's word. Nobody waits unless everyone will. Where
// workers do not wait for each other's iterations, the proposal is for the end of each one's own.
// Here, too, workers wait for the verdict on an epoch's evaluation when the job has a target accuracy, and asynchronous
// ones, at their end, for all others to get there.
#pragma once

#include <cstdint>
#include <optional>

#include "common/clock.h"
#include "common/mutex.h"
#include "common/status.h"

namespace weft {

// In place of an iteration: the present one of each rank.
inline constexpr std::int64_t kOwnIteration = 0;

enum class PauseAction { kGoOn, kCheckpoint, kCheckpointAndStop, kReplan };

// The client's thread calls Propose, Commit, Cancel, Decide, FinishNow and Close; the trainer's thread the waits.
class PauseGate {
 public:
  struct Vote {
    bool accepted = false;
    std::int64_t current_iteration = 0;
  };

  // Yes when iteration `iteration` has not ended here yet, and to kOwnIteration.
  Vote Propose(std::int64_t iteration) WEFT_EXCLUDES(mutex_);
  void Commit(std::int64_t iteration, PauseAction action) WEFT_EXCLUDES(mutex_);
  void Cancel(std::int64_t iteration) WEFT_EXCLUDES(mutex_);
  // The evaluation of the model after `iteration` says stop, or go on.
  void Decide(std::int64_t iteration, bool stop) WEFT_EXCLUDES(mutex_);
  // All asynchronous workers have ended their last iteration.
  void FinishNow() WEFT_EXCLUDES(mutex_);
  // Ends every wait, now and later, with `cause`. The first cause stays.
  void Close(const Status& cause) WEFT_EXCLUDES(mutex_);

  // At the end of 1-based iteration `iteration`: what to do before the next one. Waits only when this rank voted yes to
  // just this iteration, or to its own. DEADLINE_EXCEEDED when the coordinator says nothing until `deadline`; Close's
  // cause.
  Result<PauseAction> WaitAtEnd(std::int64_t iteration, TimePoint deadline) WEFT_EXCLUDES(mutex_);
  // True: stop. Same errors.
  Result<bool> WaitForVerdict(std::int64_t iteration, TimePoint deadline) WEFT_EXCLUDES(mutex_);
  // True once a verdict has said stop.
  bool stop_decided() const WEFT_EXCLUDES(mutex_);
  // Behind the last iteration: the pause to carry out, or kGoOn once FinishNow was called. Close's cause.
  Result<PauseAction> WaitToFinish() WEFT_EXCLUDES(mutex_);

 private:
  // What was committed, which is then done with.
  PauseAction Take() WEFT_REQUIRES(mutex_);

  mutable Mutex mutex_;
  CondVar changed_;
  std::int64_t current_ WEFT_GUARDED_BY(mutex_) = 1;              // the iteration that runs, or comes next
  std::optional<std::int64_t> proposed_ WEFT_GUARDED_BY(mutex_);  // voted yes, undecided
  std::optional<PauseAction> committed_ WEFT_GUARDED_BY(mutex_);  // for proposed_
  std::int64_t decided_ WEFT_GUARDED_BY(mutex_) = 0;              // the last iteration with a verdict
  bool stop_ WEFT_GUARDED_BY(mutex_) = false;                     // that verdict
  bool finish_ WEFT_GUARDED_BY(mutex_) = false;
  Status closed_ WEFT_GUARDED_BY(mutex_);
};

}  // namespace weft
