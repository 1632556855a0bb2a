// Random numbers by counter: the value at (seed, stream, index) is a function of the three, with integer arithmetic and
// one float multiplication, so that every machine draws the same bits in any order. (The distributions of <random> are
// implementation-defined.)
#pragma once

#include <cstdint>

namespace weft {

// The output function of SplitMix64 (Steele, Lea and Flood 2014).
constexpr std::uint64_t Mix64(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

class CounterRandom {
 public:
  constexpr CounterRandom(std::uint64_t seed, std::uint64_t stream) : key_(Mix64(Mix64(seed + kStep) + stream)) {}

  // Uniform in [-1, 1), a multiple of 2^-23: exact in float32.
  constexpr float UniformSigned(std::uint64_t index) const {
    const auto bits = static_cast<std::int32_t>(Mix64(key_ + (index + 1) * kStep) >> 40);
    return static_cast<float>(bits - (1 << 23)) * 0x1p-23F;
  }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ULL;
  std::uint64_t key_;
};

}  // namespace weft
