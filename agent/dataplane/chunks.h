// How a payload is cut into messages. Chunks let the server see how far a transfer is, so that the next grant can leave
// a round trip before its end.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/plan/plan.h"

namespace weft {

constexpr std::int64_t kSmallestChunkFloats = 16 * 1024;  // 64 KiB
constexpr std::int64_t kMostChunks = 8;

struct Chunks {
  std::int64_t floats = 0;  // of each but the last
  std::int64_t total = 0;

  // Interleaved payloads go in at most 8 chunks of at least 64 KiB, synchronous ones whole. `count` is at least 1.
  static Chunks Of(StrategyType strategy, std::int64_t count) {
    if (strategy != StrategyType::kInterleavedPS) return {.floats = count, .total = count};
    return {.floats = std::max(kSmallestChunkFloats, (count + kMostChunks - 1) / kMostChunks), .total = count};
  }
  int count() const { return static_cast<int>((total + floats - 1) / floats); }
  std::int64_t first(int chunk) const { return chunk * floats; }
  std::int64_t size(int chunk) const { return std::min(floats, total - first(chunk)); }
};

}  // namespace weft
