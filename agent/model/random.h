// Random numbers by counter: the value at (seed, stream, index) is a function of the three, with integer arithmetic and
// one float multiplication, so that every machine draws the same bits in any order. (The distributions of <random> are
// implementation-defined.)
#pragma once

#include <cstdint>

#include "common/math/mix64.h"

namespace weft {

class CounterRandom {
 public:
  constexpr CounterRandom(std::uint64_t seed, std::uint64_t stream) : key_(Mix64(Mix64(seed + kMixStep) + stream)) {}

  // Uniform in [-1, 1), a multiple of 2^-23: exact in float32.
  constexpr float UniformSigned(std::uint64_t index) const {
    const auto bits = static_cast<std::int32_t>(Mix64(key_ + (index + 1) * kMixStep) >> 40);
    return static_cast<float>(bits - (1 << 23)) * 0x1p-23F;
  }

 private:
  std::uint64_t key_;
};

}  // namespace weft
