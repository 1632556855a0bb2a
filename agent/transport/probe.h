// Measures the link between two ranks by ping-pongs of 1 KiB to 16 MiB, each size four times the one before. Nothing
// else should be on the network. The time of a size is half of its fastest round trip. A size whose round trip would
// take more than 300 ms, going by the one before, is left out, so a slow link takes about a second too.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/transport/transport.h"
#include "common/clock.h"
#include "common/status.h"

namespace weft {

struct ProbeSample {
  std::int64_t bytes = 0;
  double seconds = 0;  // one way
};

// Both ranks call one of these at about the same time. Errors: DEADLINE_EXCEEDED when the other has not come or not
// ended by `deadline` (names its rank; the transport is aborted then), and the transport's.
//
// The samples have at least two sizes, the smallest first.
Result<std::vector<ProbeSample>> ProbeAsPinger(Transport& transport, int peer, const Clock& clock, TimePoint deadline);
Status ProbeAsPonger(Transport& transport, int peer, TimePoint deadline);

}  // namespace weft
