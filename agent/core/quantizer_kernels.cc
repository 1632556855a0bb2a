#include "agent/core/quantizer_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace weft {
namespace {

// Adding it leaves a float's nearest integer in the low bits, for magnitudes below 2^22.
constexpr float kRounder = 0x1.8p23F;
constexpr std::int32_t kRounderBits = 0x4b400000;
// Keys beyond are wrong, whatever they decode to.
constexpr float kLargestKey = 0x1p21F;

std::int32_t Round(float v) { return std::bit_cast<std::int32_t>(v + kRounder) - kRounderBits; }

// NaN becomes the limit.
float ClampedKey(float v) {
  v = v < kLargestKey ? v : kLargestKey;
  return v > -kLargestKey ? v : -kLargestKey;
}

float Decoded(const Lattice& lattice, std::int32_t k, float u) { return (static_cast<float>(k) - u) * lattice.scale; }

float DecodedWithoutKey(const Lattice& lattice, std::uint32_t code, float u) {
  const std::int32_t q = 1 << lattice.bits;
  auto k = static_cast<std::int32_t>(code);
  if (k > q / 2 || (k == q / 2 && !(u > 0))) k -= q;
  return Decoded(lattice, k, u);
}

struct KeyDecoder {
  int code_bits;
  float step;          // 2^code_bits
  float inverse_step;  // its inverse
  explicit KeyDecoder(int bits)
      : code_bits(bits), step(std::ldexp(1.0F, bits)), inverse_step(std::ldexp(1.0F, -bits)) {}

  std::int32_t operator()(const Lattice& lattice, std::uint32_t code, float u, float y) const {
    const float t = ClampedKey(y * lattice.inverse) + u;
    const std::int32_t r = Round((t - static_cast<float>(code)) * inverse_step);
    return static_cast<std::int32_t>(code) + r * (1 << code_bits);
  }
};

template <typename Code>
DecodedBlock DecodeWithKey(const Lattice& lattice, int code_bits, const Code* codes, const float* y, float* x) {
  const KeyDecoder decoder(code_bits);
  DecodedBlock result;
  for (std::size_t j = 0; j < lattice.count; ++j) {
    const std::uint32_t word = DitherWord(lattice.dither, static_cast<std::uint32_t>(j));
    const float u = DitherValue(word);
    const std::int32_t k = decoder(lattice, codes[j], u, y[j]);
    const float decoded = Decoded(lattice, k, u);
    result.hash += static_cast<std::uint32_t>(k >> lattice.bits) * word;
    result.distance = std::max(result.distance, std::abs(decoded - y[j]));
    x[j] = decoded;
  }
  return result;
}

}  // namespace

std::uint32_t LargestMagnitude(const float* x, std::size_t count) {
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffU);
  return largest;
}

template <typename Code>
void EncodeDeltaBlock(const Lattice& lattice, const float* x, Code* codes, float* decoded) {
  for (std::size_t j = 0; j < lattice.count; ++j) {
    const float u = DitherValue(DitherWord(lattice.dither, static_cast<std::uint32_t>(j)));
    const std::int32_t k = Round(x[j] * lattice.inverse + u);
    codes[j] = static_cast<Code>(static_cast<std::uint32_t>(k) & ((1U << lattice.bits) - 1));
    decoded[j] = Decoded(lattice, k, u);
  }
}

template <typename Code>
void DecodeDeltaBlock(const Lattice& lattice, const Code* codes, float* x) {
  for (std::size_t j = 0; j < lattice.count; ++j) {
    x[j] = DecodedWithoutKey(lattice, codes[j], DitherValue(DitherWord(lattice.dither, static_cast<std::uint32_t>(j))));
  }
}

template <typename Code>
void AddDeltaBlock(const Lattice& lattice, const Code* codes, float* sum) {
  for (std::size_t j = 0; j < lattice.count; ++j) {
    sum[j] +=
        DecodedWithoutKey(lattice, codes[j], DitherValue(DitherWord(lattice.dither, static_cast<std::uint32_t>(j))));
  }
}

std::uint32_t EncodeRegisterBlock(const Lattice& lattice, const float* x, std::int32_t* k) {
  std::uint32_t hash = 0;
  for (std::size_t j = 0; j < lattice.count; ++j) {
    const std::uint32_t word = DitherWord(lattice.dither, static_cast<std::uint32_t>(j));
    k[j] = Round(x[j] * lattice.inverse + DitherValue(word));
    hash += static_cast<std::uint32_t>(k[j] >> lattice.bits) * word;
  }
  return hash;
}

template <typename Code>
DecodedBlock DecodeRegisterBlock(const Lattice& lattice, const Code* codes, const float* y, float* x) {
  return DecodeWithKey(lattice, lattice.bits, codes, y, x);
}

DecodedBlock DecodeRegisterBlock(const Lattice& lattice, int code_bits, const std::uint32_t* codes, const float* y,
                                 float* x) {
  return DecodeWithKey(lattice, code_bits, codes, y, x);
}

#define WEFT_FOR_CODE(Code)                                                          \
  template void EncodeDeltaBlock<Code>(const Lattice&, const float*, Code*, float*); \
  template void DecodeDeltaBlock<Code>(const Lattice&, const Code*, float*);         \
  template void AddDeltaBlock<Code>(const Lattice&, const Code*, float*);            \
  template DecodedBlock DecodeRegisterBlock<Code>(const Lattice&, const Code*, const float*, float*)
WEFT_FOR_CODE(std::uint8_t);
WEFT_FOR_CODE(std::uint16_t);
#undef WEFT_FOR_CODE

}  // namespace weft
