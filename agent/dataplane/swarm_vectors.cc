#include "agent/dataplane/swarm_vectors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "common/check.h"

// The loops index raw pointers: a checked operator[] would keep them from being vectorized.
namespace weft {
namespace {

void CheckSameSize(std::size_t a, std::size_t b) {
  WEFT_CHECK(a == b) << "spans of " << a << " and " << b << " floats";
}

// They grow with |x|; NaN's are the largest.
std::uint32_t MagnitudeBits(float x) { return std::bit_cast<std::uint32_t>(x) & 0x7fffffff; }

}  // namespace

float LargestMagnitude(std::span<const float> x) {
  const float* from = x.data();
  std::uint32_t largest = 0;
  for (std::size_t k = 0; k < x.size(); ++k) largest = std::max(largest, MagnitudeBits(from[k]));
  return std::bit_cast<float>(largest);
}

float LargestDistance(std::span<const float> a, std::span<const float> b, std::span<const float> c) {
  CheckSameSize(a.size(), c.size());
  CheckSameSize(b.empty() ? a.size() : b.size(), a.size());
  std::uint32_t largest = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const float change = b.empty() ? 0.0F : b.data()[k];
    largest = std::max(largest, MagnitudeBits(a.data()[k] + change - c.data()[k]));
  }
  return std::bit_cast<float>(largest);
}

void AddTo(std::span<float> out, std::span<const float> a, std::span<const float> b) {
  CheckSameSize(out.size(), a.size());
  CheckSameSize(out.size(), b.size());
  float* to = out.data();
  const float* p = a.data();
  const float* q = b.data();
  for (std::size_t k = 0; k < out.size(); ++k) to[k] = p[k] + q[k];
}

void AddAndCopy(std::span<float> x, std::span<const float> change, std::span<float> copy) {
  CheckSameSize(x.size(), change.size());
  CheckSameSize(x.size(), copy.size());
  float* to = x.data();
  float* copied = copy.data();
  const float* from = change.data();
  for (std::size_t k = 0; k < x.size(); ++k) {
    const float sum = to[k] + from[k];
    to[k] = sum;
    copied[k] = sum;
  }
}

void HalfDifferenceInto(std::span<float> other, std::span<const float> x) {
  CheckSameSize(other.size(), x.size());
  float* to = other.data();
  const float* from = x.data();
  for (std::size_t k = 0; k < x.size(); ++k) to[k] = 0.5F * (from[k] - to[k]);
}

}  // namespace weft
