// Hands events from the transport's thread, and from callers, to the one thread that works on them in order. Held by a
// shared pointer in completions, so that the last Push may return after the owner is gone. Thread-safe.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "common/clock.h"
#include "common/mutex.h"

namespace weft {

template <typename Event>
class EventQueue {
 public:
  void Push(Event event) WEFT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    events_.push_back(std::move(event));
    arrived_.NotifyOne();
  }

  // The oldest event, waited for until `deadline`.
  std::optional<Event> PopUntil(TimePoint deadline) WEFT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (events_.empty()) {
      if (!arrived_.WaitUntil(mutex_, deadline) && events_.empty()) return std::nullopt;
    }
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

 private:
  Mutex mutex_;
  CondVar arrived_;
  std::deque<Event> events_ WEFT_GUARDED_BY(mutex_);
};

}  // namespace weft
