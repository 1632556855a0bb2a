// The sum over ranks, as a ring over messages (Patarasuk and Yuan 2009): each rank's data is cut into one segment a
// rank. In the first n − 1 steps a rank takes a segment from the rank before it, adds its own, and passes the result on
// in the next step: then each holds one whole sum. In the next n − 1 steps these go round once. A sum is made in one
// place and copied, so all ranks have the same bits.
//
// Segments go in chunks of 256 KiB, so that a rank adds one while the next one is on its way. Per sum, a rank sends
// 2(n − 1)/n of the data, in 2(n − 1) messages for each started 256 KiB of a segment (AllReduceTraffic has it exactly).
// No thread of its own: it goes on in the completions of its messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "agent/transport/transport.h"
#include "common/mutex.h"

namespace weft {

struct AllReduceTraffic {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
};

// What `rank` sends for the sum of `floats` floats over `ranks` ranks. Empty segments are not sent.
AllReduceTraffic AllReduceTrafficOf(std::size_t floats, int ranks, int rank);

// Of one transport, which outlives it and what it started. May be called from any thread.
class RingAllReduce {
 public:
  explicit RingAllReduce(Transport& transport) : transport_(transport) {}

  // transport.h, AllReduce. Requires data and two ranks or more. A rank whose message fails tells the next one, which
  // ends with UNAVAILABLE too, so that a death reaches those that have no message with the dead rank. `done` may run
  // while chunks are still expected: they have memory of their own.
  void Start(std::span<float> data, int ranks, Completion done) WEFT_EXCLUDES(mutex_);

 private:
  class Sum;

  Transport& transport_;
  Mutex mutex_;
  std::map<int, std::int64_t> started_ WEFT_GUARDED_BY(mutex_);  // sums so far, by number of ranks
};

}  // namespace weft
