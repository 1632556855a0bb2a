// One operation on another node's registers, looked at from time to time instead of waited for: an exchange with a node
// that stands still must keep its own node from nothing else.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "agent/transport/registers.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/status.h"

namespace weft {

// Wakes the one thread that has a node's operations under way. Thread-safe.
class SwarmWaker {
 public:
  void Wake() WEFT_EXCLUDES(mutex_);
  // Until something has happened since the call before, or `deadline`.
  void WaitUntil(TimePoint deadline) WEFT_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  CondVar woken_changed_;
  bool woken_ WEFT_GUARDED_BY(mutex_) = false;
};

// One thread calls. The operation goes on when this is gone.
class SwarmOperation {
 public:
  static SwarmOperation Get(Registers& registers, int rank, std::size_t offset, SharedBytes into,
                            std::shared_ptr<SwarmWaker> waker);
  static SwarmOperation Put(Registers& registers, int rank, std::size_t offset, SharedBytes from,
                            std::shared_ptr<SwarmWaker> waker);
  static SwarmOperation Fetch(Registers& registers, int rank, std::size_t offset, FetchOperation operation,
                              std::uint64_t operand, std::shared_ptr<SwarmWaker> waker);

  bool ended() const { return state_->ended.load(std::memory_order_acquire); }
  // Once it has ended.
  const Status& status() const { return state_->status; }
  std::uint64_t value() const { return state_->value; }  // of a Fetch: the word before

 private:
  struct State {
    std::atomic<bool> ended = false;  // set last; the others are constant then
    Status status;
    std::uint64_t value = 0;
  };

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace weft
