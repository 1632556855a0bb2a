#include "agent/train/pause_gate.h"

#include <string>

namespace weft {

PauseGate::Vote PauseGate::Propose(std::int64_t iteration) {
  MutexLock lock(mutex_);
  const bool accepted = iteration == kOwnIteration || iteration >= current_;
  if (accepted) {
    proposed_ = iteration;
    committed_.reset();
  }
  return {accepted, current_};
}

void PauseGate::Commit(std::int64_t iteration, PauseAction action) {
  MutexLock lock(mutex_);
  if (proposed_ != iteration) return;
  committed_ = action;
  changed_.NotifyAll();
}

void PauseGate::Cancel(std::int64_t iteration) {
  MutexLock lock(mutex_);
  if (proposed_ != iteration) return;
  proposed_.reset();
  committed_.reset();
  changed_.NotifyAll();
}

void PauseGate::Decide(std::int64_t iteration, bool stop) {
  MutexLock lock(mutex_);
  decided_ = iteration;
  stop_ = stop_ || stop;
  changed_.NotifyAll();
}

void PauseGate::FinishNow() {
  MutexLock lock(mutex_);
  finish_ = true;
  changed_.NotifyAll();
}

void PauseGate::Close(const Status& cause) {
  MutexLock lock(mutex_);
  if (closed_.ok()) closed_ = cause;
  changed_.NotifyAll();
}

Result<PauseAction> PauseGate::WaitAtEnd(std::int64_t iteration, TimePoint deadline) {
  MutexLock lock(mutex_);
  while (true) {
    if (!closed_.ok()) return closed_;
    if ((proposed_ != iteration && proposed_ != kOwnIteration) || committed_.has_value()) break;
    if (!changed_.WaitUntil(mutex_, deadline) && Clock::Steady().Now() >= deadline) {
      return DeadlineExceededError("the coordinator did not decide on the pause at iteration " +
                                   std::to_string(iteration) + " in time");
    }
  }
  current_ = iteration + 1;
  return proposed_ == iteration || proposed_ == kOwnIteration ? Take() : PauseAction::kGoOn;
}

PauseAction PauseGate::Take() {
  const PauseAction action = *committed_;
  proposed_.reset();
  committed_.reset();
  return action;
}

bool PauseGate::stop_decided() const {
  MutexLock lock(mutex_);
  return stop_;
}

Result<PauseAction> PauseGate::WaitToFinish() {
  MutexLock lock(mutex_);
  while (true) {
    if (!closed_.ok()) return closed_;
    if (committed_.has_value()) return Take();
    if (finish_) return PauseAction::kGoOn;
    changed_.WaitUntil(mutex_, TimePoint::max());
  }
}

Result<bool> PauseGate::WaitForVerdict(std::int64_t iteration, TimePoint deadline) {
  MutexLock lock(mutex_);
  while (decided_ < iteration) {
    if (!closed_.ok()) return closed_;
    if (!changed_.WaitUntil(mutex_, deadline) && Clock::Steady().Now() >= deadline) {
      return DeadlineExceededError("no verdict on the evaluation after iteration " + std::to_string(iteration) +
                                   " came in time");
    }
  }
  return stop_;
}

}  // namespace weft
