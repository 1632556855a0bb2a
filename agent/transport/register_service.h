// Registers by requests (registers.h): the owner's transport thread answers them, in the completions of their messages.
//
// Per peer, one receive waits for requests. A request names a slot of its sender's, 0 to 127, which is the round of the
// tags of its answer and its data; so many are in flight to one peer, further ones wait for a slot. The answer's
// receive is posted when the request has left: so a request that is lost ends its operation with an error and leaves
// nothing behind. An answer and a Put's data that are lost are sent again, up to ten times.
//
// Messages, each way: Get 40 bytes and the data; Put 40 bytes and the data, and nothing; Fetch 40 bytes and 8. A peer
// that stands still, and one that is cut off, keep their own operations from ending, and no others.
#pragma once

#include <memory>
#include <string>

#include "agent/transport/register_memory.h"
#include "agent/transport/registers.h"
#include "agent/transport/transport.h"

namespace weft {

class RegisterService : public Registers {
 public:
  // The registers number `instance` of this transport, the same on all of the `options.ranks` first ranks, which have
  // all come here when operations begin. The memory and its answers live as long as the transport's messages.
  RegisterService(Transport& transport, const RegistersOptions& options, int instance, std::string reason);

  RegisterMechanism mechanism() const override { return RegisterMechanism::kService; }
  const std::string& reason() const override { return reason_; }
  std::span<std::byte> local() override;
  void Get(int rank, std::size_t offset, SharedBytes into, RegisterDone done) override;
  void Put(int rank, std::size_t offset, SharedBytes from, RegisterDone done) override;
  void Fetch(int rank, std::size_t offset, FetchOperation operation, std::uint64_t operand, FetchDone done) override;

 private:
  class State;

  const std::shared_ptr<State> state_;
  const std::string reason_;
};

// Agrees with the others on a number for new registers, above all that were agreed on by any of them before, and tells
// who does not come. `next` is this transport's lowest free number, before and after.
Result<int> AgreeOnInstance(Transport& transport, int ranks, int& next, TimePoint deadline);

}  // namespace weft
