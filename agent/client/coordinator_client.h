// A rank's end of the Attend stream (proto/coordinator.proto).
//
// Send may be called from any thread and returns once the message is handed to gRPC. Messages from the coordinator come
// to `on_message`, one at a time, on the client's own thread, which may block only briefly. `on_lost` runs once, on
// that thread, when the stream ends without Close having been called: the coordinator is gone or has refused this rank.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "common/clock.h"
#include "common/mutex.h"
#include "common/status.h"

namespace weft {

namespace v1 {
class AgentMessage;
class CoordinatorMessage;
}  // namespace v1

class CoordinatorClient {
 public:
  struct Handlers {
    std::function<void(CoordinatorClient&, const v1::CoordinatorMessage&)> on_message;
    std::function<void(const Status&)> on_lost;
  };

  // Opens the stream to `address` ("unix:/tmp/x" or "host:port"). UNAVAILABLE when nobody answers until `deadline`.
  static Result<std::unique_ptr<CoordinatorClient>> Connect(const std::string& address, std::uint64_t generation,
                                                            TimePoint deadline, Handlers handlers);

  ~CoordinatorClient();
  CoordinatorClient(const CoordinatorClient&) = delete;
  CoordinatorClient& operator=(const CoordinatorClient&) = delete;

  // Stamps the generation and sends. UNAVAILABLE when the stream is gone.
  Status Send(v1::AgentMessage message) WEFT_EXCLUDES(mutex_);

  // Ends the stream in good order; on_lost will not run.
  void Close() WEFT_EXCLUDES(mutex_);

 private:
  struct Stream;

  CoordinatorClient(std::uint64_t generation, Handlers handlers, std::unique_ptr<Stream> stream);
  void ReadLoop() WEFT_EXCLUDES(mutex_);

  const std::uint64_t generation_;
  const Handlers handlers_;
  const std::unique_ptr<Stream> stream_;  // reads on reader_, writes under mutex_

  Mutex mutex_;
  bool closed_ WEFT_GUARDED_BY(mutex_) = false;

  std::thread reader_;
};

}  // namespace weft
