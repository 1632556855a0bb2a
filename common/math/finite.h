// Whether numbers are numbers.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace weft {

// False when one of them is NaN or infinite. By their bits and without a branch, so that the loop is vectorized.
constexpr bool AllFinite(std::span<const float> values) {
  constexpr std::uint32_t kExponent = 0x7f800000;
  std::uint32_t found = 0;
  for (const float value : values) found |= (std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent ? 1U : 0U;
  return found == 0;
}

}  // namespace weft
