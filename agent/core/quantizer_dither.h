// The dither of the lattice code: a counter-based generator, so that any coordinate's u can be had without the others.
//
// A message has a 64-bit key, a block of it two 32-bit words (first, second). Coordinate j of the block has the word
//   h = first + j * 0x9e3779b9;  h ^= h >> 16;  h *= 0x7feb352d;  h ^= (h >> 15) ^ second;  h *= 0x846ca68b   (mod
//   2^32)
// and u = (h as a signed number >> 8) / 2^24, in [-1/2, 1/2): exact in float32. Two multiplications and three shifts,
// without a dependence between coordinates; the top bits of a product depend on all bits of its factor, so that the 24
// that u has are the well mixed ones. quantizer_dither_test.cc states what is measured of its quality.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

// The finalizer of splitmix64: a bijection of 64-bit words.
constexpr std::uint64_t MixWord(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

inline constexpr std::uint64_t kGoldenWord = 0x9e3779b97f4a7c15U;
inline constexpr std::uint32_t kDitherStep = 0x9e3779b9U;
inline constexpr std::uint32_t kDitherFirstFactor = 0x7feb352dU;
inline constexpr std::uint32_t kDitherSecondFactor = 0x846ca68bU;
inline constexpr float kDitherUnit = 0x1p-24F;

// The key of a message of `kind` (1: delta, 2: register).
constexpr std::uint64_t MessageKey(std::uint64_t seed, std::uint32_t kind, std::uint32_t writer,
                                   std::uint64_t version) {
  return MixWord(MixWord(MixWord(seed) + ((std::uint64_t{kind} << 32U) | writer)) + version);
}

struct BlockDither {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
};

constexpr BlockDither DitherOf(std::uint64_t message_key, std::size_t block) {
  const std::uint64_t word = MixWord(message_key + (std::uint64_t{block} + 1) * kGoldenWord);
  return {.first = static_cast<std::uint32_t>(word), .second = static_cast<std::uint32_t>(word >> 32U)};
}

constexpr std::uint32_t DitherWord(const BlockDither& dither, std::uint32_t coordinate) {
  std::uint32_t h = dither.first + coordinate * kDitherStep;
  h ^= h >> 16U;
  h *= kDitherFirstFactor;
  h ^= (h >> 15U) ^ dither.second;
  return h * kDitherSecondFactor;
}

constexpr float DitherValue(std::uint32_t word) {
  return static_cast<float>(static_cast<std::int32_t>(word) >> 8) * kDitherUnit;
}

// What says in a message's header that writer and reader have the same seed, without telling the seed.
constexpr std::uint32_t SeedMark(std::uint64_t seed) {
  return static_cast<std::uint32_t>(MixWord(MixWord(seed) + kGoldenWord));
}

// Signs of 64 coordinates of a rotated block: bit j set turns coordinate 64 group + j.
constexpr std::uint64_t RotationSigns(std::uint64_t seed, std::size_t block, std::size_t group) {
  return MixWord(MixWord(MixWord(seed) + 2 * kGoldenWord) + (std::uint64_t{block} * 64 + group));
}

}  // namespace weft
