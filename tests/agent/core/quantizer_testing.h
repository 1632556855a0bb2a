// What the quantizer's tests share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "agent/core/quantizer.h"

namespace weft {

using Bytes = std::vector<std::byte>;

inline std::vector<float> RandomFloats(std::size_t count, float scale, std::uint_fast32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

inline float LargestOf(const std::vector<float>& x) {
  float largest = 0;
  for (const float v : x) largest = std::max(largest, std::abs(v));
  return largest;
}

inline double LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - b[i]);
    // Written so that NaN stays.
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

// The bytes of a range, in memory of their own: a sanitizer finds reads past them.
inline Bytes Cut(const Bytes& message, std::size_t offset, std::size_t size) {
  const auto begin = message.begin() + static_cast<std::ptrdiff_t>(offset);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

// Widths and rotations, by name.
struct QuantizerCase {
  int bits;
  bool rotation;
};
inline std::string CaseName(const testing::TestParamInfo<QuantizerCase>& info) {
  return std::to_string(info.param.bits) + (info.param.rotation ? "BitsRotated" : "Bits");
}
inline std::vector<QuantizerCase> AllCases() {
  std::vector<QuantizerCase> cases = {{0, false}};
  for (int bits = 2; bits <= 16; ++bits) cases.insert(cases.end(), {{bits, false}, {bits, true}});
  return cases;
}

}  // namespace weft
