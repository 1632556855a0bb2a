#include "agent/data/shuffle.h"

#include <utility>

namespace weft {
namespace {

// The finalizer of SplitMix64 (Steele, Lea and Flood 2014): a bijection that changes half of the bits for each one.
std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;

}  // namespace

void Shuffle(std::uint64_t seed, std::uint64_t stream, std::span<std::int64_t> values) {
  const std::uint64_t key = Mix(Mix(seed + kGolden) + kGolden * (stream + 1));
  for (std::uint64_t i = values.size(); i > 1; --i) {
    const std::uint64_t random = Mix(key + kGolden * i);
    // The high half of a product maps 64 random bits to [0, i); its bias is below i / 2^64.
    const auto j = static_cast<std::uint64_t>((static_cast<unsigned __int128>(random) * i) >> 64);
    std::swap(values[i - 1], values[j]);
  }
}

}  // namespace weft
