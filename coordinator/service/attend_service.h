// The coordinator's gRPC server: one reactor a stream. What arrives becomes events in one queue that the coordinator's
// loop takes from; what the loop sends is queued per stream, so that a slow peer delays nobody. A rank that tells more
// than the loop takes has to wait: a few of its messages are read ahead, no more.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "common/clock.h"
#include "common/mutex.h"
#include "common/status.h"
#include "proto/coordinator.pb.h"

namespace weft {

// Names one Attend stream for as long as the server lives.
using StreamId = std::uint64_t;

struct MessageArrived {
  StreamId stream = 0;
  v1::AgentMessage message;
};
struct StreamLost {
  StreamId stream = 0;
};
struct StopAsked {};
using ServiceEvent = std::variant<MessageArrived, StreamLost, StopAsked>;

// Thread-safe.
class AttendService {
 public:
  // Serves at `address` ("unix:PATH"), and at any free port of `host` (an IPv4 address) unless that is empty.
  // INVALID_ARGUMENT: a path over 107 bytes; UNAVAILABLE: an address can't be bound.
  static Result<std::unique_ptr<AttendService>> Start(const std::string& address, const std::string& host = "");
  // Ends all streams.
  ~AttendService();

  // On `host`; 0 without one.
  int port() const;

  // The oldest event; nothing until `deadline`.
  std::optional<ServiceEvent> WaitUntil(TimePoint deadline);

  // Messages to a stream that is gone are dropped.
  void Send(StreamId stream, v1::CoordinatorMessage message);
  // Ends the stream, once what was sent before has left; the rank sees `status`.
  void Close(StreamId stream, const Status& status);

  // Tells all watchers, now and to come: a watcher gets everything but old progress, in order. One that does not
  // read gets the newest progress only.
  void Publish(v1::RunEvent event);
  // Returns when at least one watcher has come and all have what was published, or at `deadline`.
  void FinishWatchers(TimePoint deadline);

 private:
  class Impl;
  explicit AttendService(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace weft
