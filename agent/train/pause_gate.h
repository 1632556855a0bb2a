// Makes all ranks pause at the end of one iteration. The coordinator proposes an iteration; a rank that has not passed
// it votes yes and from then on waits at its end for the coordinator's word. Nobody waits unless everyone will.
// Here, too, workers wait for the verdict on an epoch's evaluation when the job has a target accuracy.
#pragma once

#include <cstdint>
#include <optional>

#include "common/clock.h"
#include "common/mutex.h"
#include "common/status.h"

namespace weft {

enum class PauseAction { kGoOn, kCheckpoint, kCheckpointAndStop };

// The client's thread calls Propose, Commit, Cancel, Decide and Close; the trainer's thread the waits.
class PauseGate {
 public:
  struct Vote {
    bool accepted = false;
    std::int64_t current_iteration = 0;
  };

  // Yes when iteration `iteration` has not ended here yet.
  Vote Propose(std::int64_t iteration) WEFT_EXCLUDES(mutex_);
  void Commit(std::int64_t iteration, PauseAction action) WEFT_EXCLUDES(mutex_);
  void Cancel(std::int64_t iteration) WEFT_EXCLUDES(mutex_);
  // The evaluation of the model after `iteration` says stop, or go on.
  void Decide(std::int64_t iteration, bool stop) WEFT_EXCLUDES(mutex_);
  // Ends every wait, now and later, with `cause`.
  void Close(const Status& cause) WEFT_EXCLUDES(mutex_);

  // At the end of 1-based iteration `iteration`: what to do before the next one. Waits only when this rank voted yes to
  // just this iteration. DEADLINE_EXCEEDED when the coordinator says nothing until `deadline`; Close's cause.
  Result<PauseAction> WaitAtEnd(std::int64_t iteration, TimePoint deadline) WEFT_EXCLUDES(mutex_);
  // True: stop. Same errors.
  Result<bool> WaitForVerdict(std::int64_t iteration, TimePoint deadline) WEFT_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  CondVar changed_;
  std::int64_t current_ WEFT_GUARDED_BY(mutex_) = 1;              // the iteration that runs, or comes next
  std::optional<std::int64_t> proposed_ WEFT_GUARDED_BY(mutex_);  // voted yes, undecided
  std::optional<PauseAction> committed_ WEFT_GUARDED_BY(mutex_);  // for proposed_
  std::int64_t decided_ WEFT_GUARDED_BY(mutex_) = 0;              // the last iteration with a verdict
  bool stop_ WEFT_GUARDED_BY(mutex_) = false;                     // that verdict
  Status closed_ WEFT_GUARDED_BY(mutex_);
};

}  // namespace weft
