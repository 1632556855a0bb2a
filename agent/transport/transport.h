// Point-to-point messages between the ranks of one generation. Workers are ranks 0..K-1, servers K..K+S-1.
//
// Send and Receive start an operation and return at once. The transport owns the buffer from the call until `done`
// runs. `done` runs exactly once, on the transport's own thread: it must be short and must not block, but may start
// further operations. A message is matched by (sender, receiver, tag); those of one triple arrive in the order in which
// they were sent, those of different tags in any order. The receiver's buffer has exactly the message's size; another
// size is DATA_LOSS. Empty messages are allowed. A message may be larger than 2 GiB.
//
// Errors that `done` gets: UNAVAILABLE, a peer is gone (the message names its rank); CANCELLED with the cause given to
// Abort; DATA_LOSS, see above.
//
// All functions may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "agent/transport/registers.h"
#include "agent/transport/tag.h"
#include "common/clock.h"
#include "common/status.h"

namespace weft {

using Completion = std::function<void(const Status&)>;

class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  virtual void Send(int to, Tag tag, std::span<const std::byte> data, Completion done) = 0;
  virtual void Receive(int from, Tag tag, std::span<std::byte> data, Completion done) = 0;

  // data <- the sum of the `ranks` first ranks' data, element by element, in place and in the same bits everywhere. All
  // of those ranks call it with the same size, in the same order; several may be in flight. A rank beyond them doesn't.
  // Errors as for messages. all_reduce.h has the messages and bytes.
  virtual void AllReduce(std::span<float> data, int ranks, Completion done) = 0;

  // Registers of the `ranks` first ranks (registers.h), which all call it and wait for each other until `deadline`;
  // the transport outlives the registers. DEADLINE_EXCEEDED names a rank that did not come; UNIMPLEMENTED, see the
  // options; RESOURCE_EXHAUSTED after 1,000 of them.
  virtual Result<std::unique_ptr<Registers>> MakeRegisters(const RegistersOptions& options, TimePoint deadline) = 0;

  // Ends every operation in flight, and every later one, with CANCELLED and `cause`'s message. When it returns, all
  // `done` have run and no buffer is owned any more. Must not be called from a `done`.
  virtual void Abort(const Status& cause) = 0;

  // "loopback", or Open MPI's components: "ob1/vader,tcp of Open MPI 4.1.4". For logs and summary.json.
  virtual std::string description() const = 0;
};

// Sends or receives and waits until `deadline` of the steady clock. DEADLINE_EXCEEDED names the peer's rank and what
// was waited for; the transport is then aborted, since the buffer must be free again.
Status SendAndWait(Transport& transport, int to, Tag tag, std::span<const std::byte> data, TimePoint deadline);
Status ReceiveAndWait(Transport& transport, int from, Tag tag, std::span<std::byte> data, TimePoint deadline);
Status AllReduceAndWait(Transport& transport, std::span<float> data, int ranks, TimePoint deadline);

}  // namespace weft
