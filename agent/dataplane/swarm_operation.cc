#include "agent/dataplane/swarm_operation.h"

#include <utility>

namespace weft {

void SwarmWaker::Wake() {
  const MutexLock lock(mutex_);
  woken_ = true;
  woken_changed_.NotifyOne();
}

void SwarmWaker::WaitUntil(TimePoint deadline) {
  const MutexLock lock(mutex_);
  while (!woken_) {
    if (!woken_changed_.WaitUntil(mutex_, deadline)) break;
  }
  woken_ = false;
}

SwarmOperation SwarmOperation::Get(Registers& registers, int rank, std::size_t offset, SharedBytes into,
                                   std::shared_ptr<SwarmWaker> waker) {
  SwarmOperation operation;
  registers.Get(rank, offset, std::move(into), [state = operation.state_, waker = std::move(waker)](const Status& s) {
    state->status = s;
    state->ended.store(true, std::memory_order_release);
    waker->Wake();
  });
  return operation;
}

SwarmOperation SwarmOperation::Put(Registers& registers, int rank, std::size_t offset, SharedBytes from,
                                   std::shared_ptr<SwarmWaker> waker) {
  SwarmOperation operation;
  registers.Put(rank, offset, std::move(from), [state = operation.state_, waker = std::move(waker)](const Status& s) {
    state->status = s;
    state->ended.store(true, std::memory_order_release);
    waker->Wake();
  });
  return operation;
}

SwarmOperation SwarmOperation::Fetch(Registers& registers, int rank, std::size_t offset, FetchOperation kind,
                                     std::uint64_t operand, std::shared_ptr<SwarmWaker> waker) {
  SwarmOperation operation;
  registers.Fetch(rank, offset, kind, operand,
                  [state = operation.state_, waker = std::move(waker)](const Result<std::uint64_t>& before) {
                    state->status = before.status();
                    if (before.ok()) state->value = *before;
                    state->ended.store(true, std::memory_order_release);
                    waker->Wake();
                  });
  return operation;
}

}  // namespace weft
