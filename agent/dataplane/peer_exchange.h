// The ranks of a plane without servers among themselves: transfers that are waited for with a deadline, barriers, and
// the news that one of them has failed.
//
// Each rank keeps a receive of a control message (64 bytes) posted from each other one: so the death of any rank is
// known at once, and the first to see a fault tells all others whose it is. Per barrier and per goodbye a rank sends
// P - 1 control messages; between them none.
//
// Send, Receive, AllReduce and status may be called from any thread, the rest from the trainer's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/dataplane/control_message.h"
#include "agent/transport/transport.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/status.h"

namespace weft {

class PeerExchange {
 public:
  struct Options {
    std::uint64_t generation = 1;
    int ranks = 1;  // 0..ranks-1 take part
    Duration peer_timeout = std::chrono::seconds(30);
    // A rank that is gone ends the exchange with UNAVAILABLE; or it is left out from then on.
    bool survive_deaths = false;
  };

  // What came of an operation. Times are of the exchange's clock.
  struct Ended {
    Status status;
    Duration waited{};  // by the caller
    TimePoint start{};
    TimePoint end{};
    std::int64_t bytes_out = 0;
    std::int64_t bytes_in = 0;
  };
  class Transfer;
  using Handle = std::shared_ptr<Transfer>;
  using Memory = std::shared_ptr<const void>;

  // The transport and the clock outlive the exchange.
  PeerExchange(const Options& options, Transport& transport, Clock& clock);
  // Aborts the transport unless Goodbye has succeeded, after it has told the others.
  ~PeerExchange();
  PeerExchange(const PeerExchange&) = delete;
  PeerExchange& operator=(const PeerExchange&) = delete;

  // Start an operation; `what` is it for messages: "the model of iteration 4". `memory` is what keeps `data` alive, or
  // null where the caller sees to it that `data` outlives the exchange. `then` runs on the transport's thread.
  Handle Send(int to, Tag tag, std::span<const float> data, std::string what, Memory memory = nullptr,
              std::function<void(const Status&)> then = nullptr);
  Handle Receive(int from, Tag tag, std::span<float> data, std::string what, Memory memory = nullptr,
                 std::function<void(const Status&)> then = nullptr);
  // data <- the sum over all ranks. All call it in one order.
  Handle AllReduce(std::span<float> data, std::string what, Memory memory = nullptr);

  // An empty message that takes the place of one that was lost: its Receive ends with DATA_LOSS. Sent again until it is
  // delivered.
  void SendTombstone(int to, Tag tag);

  // Waits for the operation, which must succeed: any error is the exchange's from then on, and all others are told.
  // DEADLINE_EXCEEDED, UNAVAILABLE: names the rank.
  Result<Ended> Wait(const Handle& handle);
  // The same, but the operation's own error is in Ended and the caller's to judge. An error: the exchange has failed.
  Result<Ended> Await(const Handle& handle);

  // Waits until all ranks (but those that are gone) have called it as often.
  Status Barrier();
  // Tells the others that nothing follows, and waits until all have said so. No operation may be under way.
  Status Goodbye();

  // The first error, or OK.
  Status status() const;
  bool gone(int rank) const;
  // Ends the exchange with `status` and tells all but the rank at fault (-1: none).
  Status Fail(const Status& status, int rank_at_fault);

  // Payload sent to and received from others since the last call. A sum counts as a ring's
  // (agent/transport/all_reduce.h).
  std::pair<std::int64_t, std::int64_t> TakeBytes();

 private:
  struct State;

  Handle Begin(int peer, std::string what, std::size_t bytes_out, std::size_t bytes_in, Memory memory);
  Completion EndOf(const Handle& handle, std::function<void(const Status&)> then);
  Status Late(const Handle& handle);
  Status LateSum(const Handle& handle);
  Status MeetAll(ControlKind kind, std::int64_t number, const std::string& what);
  Duration Grace() const;  // for answers, when something is late
  std::string LimitText() const;

  const std::shared_ptr<State> state_;  // completions hold it too
  Clock& clock_;
  std::int64_t barriers_ = 0;
};

}  // namespace weft
