#include "agent/transport/transport.h"

#include <string>
#include <utility>

#include "common/mutex.h"

namespace weft {
namespace {

// The outcome of one operation, waited for by another thread.
class Outcome {
 public:
  Completion completion() {
    return [this](const Status& status) {
      const MutexLock lock(mutex_);
      status_ = status;
      finished_ = true;
      // Under the lock: the waiter may destroy this object as soon as it has seen finished_.
      finished_changed_.NotifyOne();
    };
  }

  // False at the deadline.
  bool WaitUntil(TimePoint deadline) WEFT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (!finished_) {
      if (!finished_changed_.WaitUntil(mutex_, deadline) && !finished_) return false;
    }
    return true;
  }

  Status status() WEFT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return status_;
  }

 private:
  Mutex mutex_;
  CondVar finished_changed_;
  Status status_ WEFT_GUARDED_BY(mutex_);
  bool finished_ WEFT_GUARDED_BY(mutex_) = false;
};

Status Await(Transport& transport, Outcome& outcome, TimePoint deadline, const std::string& action) {
  if (outcome.WaitUntil(deadline)) return outcome.status();
  const Status error = DeadlineExceededError("rank " + std::to_string(transport.rank()) + ": " + action +
                                             " did not end before its deadline");
  transport.Abort(error);
  return error;
}

}  // namespace

Status SendAndWait(Transport& transport, int to, Tag tag, std::span<const std::byte> data, TimePoint deadline) {
  Outcome outcome;
  transport.Send(to, tag, data, outcome.completion());
  return Await(transport, outcome, deadline,
               "sending " + std::to_string(data.size()) + " bytes to rank " + std::to_string(to));
}

Status ReceiveAndWait(Transport& transport, int from, Tag tag, std::span<std::byte> data, TimePoint deadline) {
  Outcome outcome;
  transport.Receive(from, tag, data, outcome.completion());
  return Await(transport, outcome, deadline,
               "receiving " + std::to_string(data.size()) + " bytes from rank " + std::to_string(from));
}

}  // namespace weft
