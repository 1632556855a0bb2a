// A queue between two threads of a rank: messages of the coordinator on their way from the client's thread to the main
// one, snapshots of the model from the thread that trains or serves to whoever evaluates them.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include "common/clock.h"
#include "common/mutex.h"
#include "common/status.h"

namespace weft {

// For the waits that last as long as the training: a message, or Close, ends them.
inline constexpr TimePoint kUntilClosed = TimePoint::max();

// Thread-safe.
template <typename T>
class Mailbox {
 public:
  void Push(T message) WEFT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    messages_.emplace_back(std::move(message));
    changed_.NotifyAll();
  }

  // The same, but waits while `most` messages are there. DEADLINE_EXCEEDED at `deadline`; Close's cause. On an error
  // `message` stays the caller's.
  Status PushWithin(T& message, std::size_t most, TimePoint deadline) WEFT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (true) {
      if (!closed_.ok()) return closed_;
      if (messages_.size() < most) break;
      if (!changed_.WaitUntil(mutex_, deadline) && Clock::Steady().Now() >= deadline) {
        return DeadlineExceededError("nothing was taken in time");
      }
    }
    messages_.emplace_back(std::move(message));
    changed_.NotifyAll();
    return OkStatus();
  }

  // An error of the sender's: comes out of one Pop, in its turn.
  void PushError(const Status& error) WEFT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    messages_.emplace_back(error);
    changed_.NotifyAll();
  }

  // Ends every Pop, once the messages before are taken, with `cause`. The first cause stays.
  void Close(const Status& cause) WEFT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (closed_.ok()) closed_ = cause;
    changed_.NotifyAll();
  }

  // The oldest message, or PushError's error. DEADLINE_EXCEEDED at `deadline`; Close's cause.
  Result<T> Pop(TimePoint deadline) WEFT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (messages_.empty()) {
      if (!closed_.ok()) return closed_;
      if (!changed_.WaitUntil(mutex_, deadline) && Clock::Steady().Now() >= deadline) {
        return DeadlineExceededError("nothing came in time");
      }
    }
    Result<T> message = std::move(messages_.front());
    messages_.pop_front();
    changed_.NotifyAll();
    return message;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::deque<Result<T>> messages_ WEFT_GUARDED_BY(mutex_);
  Status closed_ WEFT_GUARDED_BY(mutex_);
};

}  // namespace weft
