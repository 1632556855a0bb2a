// Random bits by counter: the value at (seed, stream, index) is a function of the three, so that every rank draws the
// same in any order.
#pragma once

#include <cstdint>

#include "common/math/mix64.h"

namespace weft {

constexpr std::uint64_t CounterHash(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  std::uint64_t z = 0;
  for (const std::uint64_t input : {seed, stream, index}) z = Mix64((z ^ input) + kMixStep);
  return z;
}

// `bits` uniform in 64 bits, `bound` above 0: a number in [0, bound), each with probability 1 / bound to within 2^-64.
constexpr std::uint64_t BelowBound(std::uint64_t bits, std::uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(bits) * bound) >> 64);
}

// A double in (0, 1], a multiple of 2^-53.
constexpr double UnitInterval(std::uint64_t bits) { return static_cast<double>((bits >> 11) + 1) * 0x1p-53; }

}  // namespace weft
