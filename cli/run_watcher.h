// The parent's end of a coordinator's socket: its events in a queue, and the wish to stop.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "common/clock.h"
#include "common/mutex.h"
#include "common/status.h"
#include "proto/coordinator.pb.h"

namespace weft {

// Thread-safe.
class RunWatcher {
 public:
  // Connects to `address` ("unix:PATH"), where somebody has to answer until `deadline`. UNAVAILABLE otherwise.
  static Result<std::unique_ptr<RunWatcher>> Connect(const std::string& address, TimePoint deadline);
  ~RunWatcher();

  // The oldest event; nothing until `deadline`, or at once when the stream has ended.
  std::optional<v1::RunEvent> WaitUntil(TimePoint deadline) WEFT_EXCLUDES(mutex_);
  // The stream has ended and all its events are taken.
  bool done() WEFT_EXCLUDES(mutex_);

  // Asks for a stop after a checkpoint. Waits at most a second for the coordinator to hear it.
  Status Stop();

 private:
  struct Wire;
  explicit RunWatcher(std::unique_ptr<Wire> wire);
  void Read() WEFT_EXCLUDES(mutex_);

  const std::unique_ptr<Wire> wire_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<v1::RunEvent> events_ WEFT_GUARDED_BY(mutex_);
  bool ended_ WEFT_GUARDED_BY(mutex_) = false;
  std::thread reader_;
};

}  // namespace weft
