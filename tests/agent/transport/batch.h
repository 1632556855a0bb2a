// Waiting, in tests, for operations that run at once.
#pragma once

#include <vector>

#include "agent/transport/transport.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/status.h"

namespace weft {

constexpr Duration kTestLimit = std::chrono::seconds(30);

inline TimePoint Deadline() { return Clock::Steady().Now() + kTestLimit; }

// Operations that run at once; Wait returns when all have ended.
class Batch {
 public:
  Completion Expect(const char* what) {
    const MutexLock lock(mutex_);
    ++pending_;
    return [this, what](const Status& status) {
      const MutexLock inner(mutex_);
      if (!status.ok()) errors_.push_back(status.WithContext(what));
      --pending_;
      changed_.NotifyAll();
    };
  }
  bool Wait() {
    const TimePoint deadline = Deadline();
    const MutexLock lock(mutex_);
    while (pending_ > 0) {
      if (!changed_.WaitUntil(mutex_, deadline) && pending_ > 0) return false;
    }
    return true;
  }
  bool pending() {
    const MutexLock lock(mutex_);
    return pending_ > 0;
  }
  std::vector<Status> errors() {
    const MutexLock lock(mutex_);
    return errors_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int pending_ WEFT_GUARDED_BY(mutex_) = 0;
  std::vector<Status> errors_ WEFT_GUARDED_BY(mutex_);
};

}  // namespace weft
