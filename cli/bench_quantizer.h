// `weft bench quantizer`: the lattice code's speed on one core as a ratio to memcpy of the same float32 bytes, measured
// in the same run: above 1 is faster than the copy.
#pragma once

#include <cstdint>
#include <vector>

#include "common/status.h"

namespace weft {

struct BenchQuantizerOptions {
  std::vector<int> bits = {2, 4, 8, 12, 16, 0};             // each also with rotation, but 0 (off)
  std::vector<std::int64_t> bytes = {256 << 10, 64 << 20};  // of float32: in cache and out of it
  double seconds = 1.0;                                     // for each width, size and rotation
  bool json = false;
};

// Prints to stdout. INVALID_ARGUMENT: bits or bytes out of range. INTERNAL: what was timed gave wrong results.
Status BenchQuantizer(const BenchQuantizerOptions& options);

}  // namespace weft
