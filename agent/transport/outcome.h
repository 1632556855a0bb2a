// What waits, with a deadline, for operations that end on the transport's thread.
#pragma once

#include <string>

#include "agent/transport/transport.h"
#include "common/mutex.h"

namespace weft {

// The end of something that happens on another thread, waited for by one.
class Outcome {
 public:
  void Set(const Status& status) WEFT_EXCLUDES(mutex_);
  // The status given to Set, which runs before `deadline`. Otherwise aborts the transport, so that its buffers are free
  // again and Set has run, and gives DEADLINE_EXCEEDED: "rank 0: <action> did not end before its deadline".
  Status Await(Transport& transport, TimePoint deadline, const std::string& action) WEFT_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  CondVar set_changed_;
  bool set_ WEFT_GUARDED_BY(mutex_) = false;
  Status status_ WEFT_GUARDED_BY(mutex_);
};

}  // namespace weft
