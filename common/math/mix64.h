// The mixing of 64 bits under every generator by counter.
#pragma once

#include <cstdint>

namespace weft {

// The output function of SplitMix64 (Steele, Lea and Flood 2014): a bijection in which each bit of `z` changes half of
// the bits of the result.
constexpr std::uint64_t Mix64(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// SplitMix64's step from one counter to the next: 2^64 over the golden ratio, odd.
inline constexpr std::uint64_t kMixStep = 0x9e3779b97f4a7c15ULL;

}  // namespace weft
