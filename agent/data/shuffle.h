// An order that is the same bits on every machine: std::shuffle and the standard distributions may differ between
// libraries.
#pragma once

#include <cstdint>
#include <span>

namespace weft {

// Permutes `values` (Fisher-Yates); the k-th draw is a function of (seed, stream, k) alone.
void Shuffle(std::uint64_t seed, std::uint64_t stream, std::span<std::int64_t> values);

}  // namespace weft
