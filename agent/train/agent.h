// A rank of a run: connects to the coordinator, registers, and does what it says until it says Exit.
#pragma once

#include <cstdint>
#include <string>

#include "agent/transport/transport.h"
#include "common/clock.h"
#include "common/status.h"

namespace weft {

struct AgentOptions {
  std::string coordinator;  // "unix:/tmp/x" or "host:port"
  std::string job;
  std::uint64_t generation = 1;
  int workers = 1;
  int servers = 1;
  int metrics_port = 0;  // the coordinator's; rank r serves at metrics_port + 1 + r; 0: any free one; below 0: none
  std::string metrics_host = "127.0.0.1";  // IPv4 address to serve them at
  Duration peer_timeout{};                 // how long any peer may keep this rank waiting
};

// The coordinator's exit code; 1 and a log line when it is lost. Does not finalize the transport: after a code other
// than 0 the peers may be gone, and the process must end without waiting for them.
int RunAgent(const AgentOptions& options, Transport& transport, Clock& clock);

}  // namespace weft
