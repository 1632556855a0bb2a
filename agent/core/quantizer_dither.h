// The dither of the lattice code: a counter-based generator, so that any coordinate's u can be had without the others.
//
// Coordinate 64 g + l of a block has the word h = A_g C_l modulo 2^32. A_g, odd, comes of the block's key and g through
// a mixing function; C_0 … C_63 are odd constants. One multiplication a coordinate, none of it waiting for another.
// Each u alone is uniform. Two of one group are as the successive numbers of a linear congruential generator with a
// good multiplier: no a C_l + b C_m = 0 (mod 2^31) has |ab| below 30000, so that their correlation is below 1e-4
// (12 / (4 pi^2 |ab|) a relation). Two of different groups are independent as far as the mixing is good. That is what
// the code needs: u makes each coordinate's error uniform whatever x is, and makes the errors of two coordinates
// uncorrelated. It does not need the 64 words of a group to be independent together, which they are not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "agent/core/quantizer_planes.h"
#include "common/math/mix64.h"

namespace weft {

// The key of a message of `kind` (1: delta, 2: register).
constexpr std::uint64_t MessageKey(std::uint64_t seed, std::uint32_t kind, std::uint32_t writer,
                                   std::uint64_t version) {
  return Mix64(Mix64(Mix64(seed) + ((std::uint64_t{kind} << 32U) | writer)) + version);
}
constexpr std::uint64_t BlockKey(std::uint64_t message_key, std::size_t block) {
  return Mix64(message_key + (std::uint64_t{block} + 1) * kMixStep);
}

// A_2p, A_2p+1 of a pair of groups: the lower half is the first.
struct GroupFactors {
  std::uint32_t even = 0;
  std::uint32_t odd = 0;
};
constexpr GroupFactors FactorsOf(std::uint64_t block_key, std::size_t pair) {
  const std::uint64_t word = Mix64(block_key + (std::uint64_t{pair} + 1) * kMixStep);
  return {.even = static_cast<std::uint32_t>(word) | 1U, .odd = static_cast<std::uint32_t>(word >> 32U) | 1U};
}

// C_l.
struct LaneFactors {
  alignas(64) std::array<std::uint32_t, kCodeGroup> of = {};
  std::uint32_t sum = 0;
};
constexpr LaneFactors MakeLaneFactors() {
  LaneFactors factors;
  for (std::size_t lane = 0; lane < kCodeGroup; ++lane) {
    factors.of[lane] = static_cast<std::uint32_t>(Mix64((lane + 1) * kMixStep)) | 1U;
    factors.sum += factors.of[lane];
  }
  return factors;
}
inline constexpr LaneFactors kLaneFactors = MakeLaneFactors();

// A coordinate's word by itself: what the kernels compute many at a time.
constexpr std::uint32_t DitherWord(std::uint64_t block_key, std::size_t coordinate) {
  const std::size_t group = coordinate / kCodeGroup;
  const GroupFactors factors = FactorsOf(block_key, group / 2);
  return (group % 2 == 0 ? factors.even : factors.odd) * kLaneFactors.of[coordinate % kCodeGroup];
}

// What says in a message's header that writer and reader have the same seed, without telling the seed.
constexpr std::uint32_t SeedMark(std::uint64_t seed) {
  return static_cast<std::uint32_t>(Mix64(Mix64(seed) + kMixStep));
}

// Signs of 64 coordinates of a rotated block: bit j set turns coordinate 64 group + j.
constexpr std::uint64_t RotationKey(std::uint64_t seed, std::size_t block) {
  return Mix64(Mix64(seed) + 2 * kMixStep) + std::uint64_t{block} * 64;
}
constexpr std::uint64_t RotationSigns(std::uint64_t rotation_key, std::size_t group) {
  return Mix64(rotation_key + group);
}

}  // namespace weft
