// Sums and exponentials that the compiler turns into vector code: without a library call, and in a fixed order.
#pragma once

#include <bit>
#include <cstdint>

namespace weft {

// e^x to about 2 units in the last place for x in [-87, 88]; the ends of that range outside of it. NaN stays NaN.
// x = n ln 2 + r with |r| <= ln 2 / 2, and e^r by Cephes' polynomial of degree 5.
inline float FastExp(float x) {
  const float clamped = x < -87.0F ? -87.0F : (x > 88.0F ? 88.0F : x);
  // Adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits.
  const float shifted = clamped * 1.44269504F + 12582912.0F;
  const float n = shifted - 12582912.0F;
  const float r = (clamped - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const float exp_r = p * r * r + r + 1.0F;
  const std::uint32_t scale = (std::bit_cast<std::uint32_t>(shifted) << 23) + 0x3f800000U;
  return exp_r * std::bit_cast<float>(scale);
}

// P(Z <= x) for a standard normal Z, given e = exp(-x^2 / 2), to about 1e-7: Abramowitz and Stegun 7.1.26 for the error
// function at |x| / sqrt(2).
inline float NormalCdf(float x, float e) {
  const float z = (x < 0 ? -x : x) * 0.70710678F;
  const float t = 1.0F / (1.0F + 0.3275911F * z);
  float p = 1.061405429F;
  p = p * t - 1.453152027F;
  p = p * t + 1.421413741F;
  p = p * t - 0.284496736F;
  p = p * t + 0.254829592F;
  const float tail = 0.5F * p * t * e;
  return x < 0 ? tail : 1.0F - tail;
}

// The sum of value(0) to value(count - 1) in 16 interleaved partial sums.
template <typename Value>
inline float LaneSum(std::int64_t count, const Value& value) {
  constexpr int kLanes = 16;
  float lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += value(i + lane);
  }
  for (int lane = 0; i < count; ++i, ++lane) lanes[lane] += value(i);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

}  // namespace weft
