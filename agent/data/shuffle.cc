#include "agent/data/shuffle.h"

#include <utility>

#include "common/math/mix64.h"

namespace weft {
void Shuffle(std::uint64_t seed, std::uint64_t stream, std::span<std::int64_t> values) {
  const std::uint64_t key = Mix64(Mix64(seed + kMixStep) + kMixStep * (stream + 1));
  for (std::uint64_t i = values.size(); i > 1; --i) {
    const std::uint64_t random = Mix64(key + kMixStep * i);
    // The high half of a product maps 64 random bits to [0, i); its bias is below i / 2^64.
    const auto j = static_cast<std::uint64_t>((static_cast<unsigned __int128>(random) * i) >> 64);
    std::swap(values[i - 1], values[j]);
  }
}

}  // namespace weft
