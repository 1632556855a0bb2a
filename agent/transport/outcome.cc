#include "agent/transport/outcome.h"

namespace weft {

void Outcome::Set(const Status& status) {
  const MutexLock lock(mutex_);
  status_ = status;
  set_ = true;
  // Under the lock: the waiter may destroy this object as soon as it has seen set_.
  set_changed_.NotifyOne();
}

Status Outcome::Await(Transport& transport, TimePoint deadline, const std::string& action) {
  {
    const MutexLock lock(mutex_);
    while (!set_) {
      if (!set_changed_.WaitUntil(mutex_, deadline) && !set_) break;
    }
    if (set_) return status_;
  }
  Status error = DeadlineExceededError("rank " + std::to_string(transport.rank()) + ": " + action +
                                       " did not end before its deadline");
  transport.Abort(error);
  // The last `done` may still hold the lock.
  const MutexLock lock(mutex_);
  return error;
}

}  // namespace weft
