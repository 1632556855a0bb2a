#include "agent/core/quantizer_rotation.h"

#include <bit>

#include "agent/core/quantizer_dither.h"

namespace weft {
namespace {

void Transform(std::size_t m, float* z) {
  for (std::size_t distance = 1; distance < m; distance *= 2) {
    for (std::size_t start = 0; start < m; start += 2 * distance) {
      for (std::size_t i = start; i < start + distance; ++i) {
        const float a = z[i], b = z[i + distance];
        z[i] = a + b;
        z[i + distance] = a - b;
      }
    }
  }
}

void Sign(std::uint64_t seed, std::size_t block, std::size_t m, float* x) {
  for (std::size_t i = 0; i < m; ++i) {
    const auto negative = static_cast<std::uint32_t>(RotationSigns(seed, block, i / 64) >> (i % 64)) << 31U;
    x[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x[i]) ^ negative);
  }
}

}  // namespace

void RotateBlock(std::uint64_t seed, std::size_t block, std::size_t m, float* x) {
  Sign(seed, block, m, x);
  Transform(m, x);
}

void UnrotateBlock(std::uint64_t seed, std::size_t block, std::size_t m, float* z) {
  Transform(m, z);
  const float factor = 1.0F / static_cast<float>(m);
  for (std::size_t i = 0; i < m; ++i) z[i] *= factor;
  Sign(seed, block, m, z);
}

}  // namespace weft
