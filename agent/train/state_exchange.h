// Named tensors from one rank to another: a worker's state to the rank that writes checkpoints, and back at a resume; a
// server's part of the centre, or a worker's model, to the rank that evaluates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/transport/transport.h"
#include "common/clock.h"
#include "common/status.h"

namespace weft {

// Each purpose is a stream of its own: messages of one keep their order and are never taken for another's.
enum class StatePurpose { kCheckpoint, kRelease, kRestore, kEvaluation, kChangeOfPlan };

struct StateTensor {
  std::string name;
  std::vector<float> values;
};

struct StateMessage {
  std::int64_t iteration = 0;  // after which the state was taken
  bool final = false;          // the last of its stream
  std::vector<StateTensor> tensors;
};

// No deadline of its own: ends when the message comes, the peer is gone or the transport is aborted. For the waits that
// last as long as the training between two evaluations.
inline constexpr TimePoint kUntilAborted = TimePoint::max();

// On the wire: the length of the manifest (8 bytes), the manifest (JSON: iteration, final, tensors [{name, count}]),
// one message a tensor. Returns when all are sent. DEADLINE_EXCEEDED and UNAVAILABLE name the peer.
Status SendState(Transport& transport, int to, StatePurpose purpose, const StateMessage& message, TimePoint deadline);

// DATA_LOSS: a manifest that does not parse.
Result<StateMessage> ReceiveState(Transport& transport, int from, StatePurpose purpose, TimePoint deadline);

}  // namespace weft
