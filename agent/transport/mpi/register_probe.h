// Which mechanism registers between hosts shall have (registers.h): measured, with every second rank as the target of
// the one before it, in about 0.1 s.
//
// First the targets' progress threads make no MPI call for 50 ms, and the others read and change words of theirs. If
// that ends meanwhile, the network's hardware does it: one-sided. If even a call does not return meanwhile, a peer that
// stands still would hold up operations with all others: service. Else both ways are timed with the targets' threads
// running, and one-sided calls are taken when they are twice as fast.
#pragma once

#include <memory>
#include <string>

#include "agent/transport/mpi/progress.h"
#include "agent/transport/registers.h"
#include "agent/transport/transport.h"

namespace weft {

struct RegisterChoice {
  RegisterMechanism mechanism = RegisterMechanism::kService;
  std::string reason;
};

// All of the `ranks` first ranks call it, and all get the same. The instances number what it makes (register_tags.h).
// DEADLINE_EXCEEDED: a rank did not come, or MPI hangs. Errors as for messages.
Result<RegisterChoice> ProbeRegisters(Transport& transport, const std::shared_ptr<MpiProgress>& progress, int ranks,
                                      int instance, TimePoint deadline);

// A window of `bytes` for registers, when all ranks have one. UNIMPLEMENTED names the first rank that has none, and
// why. Otherwise as above.
class MpiWindow;
Result<std::shared_ptr<MpiWindow>> MakeWindow(Transport& transport, const std::shared_ptr<MpiProgress>& progress,
                                              int ranks, std::size_t bytes, int instance, TimePoint deadline);

}  // namespace weft
