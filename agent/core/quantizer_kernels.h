// The inner loops of the lattice code: one block of coordinates each. All are exact to the bit on every processor.
//
// With v = x * inverse (float32; so for y), u the coordinate's dither, and round to the nearest, halves to even:
//   encode       k = round(v + u)
//   key 0        k - u is the number congruent to c - u modulo q that lies in (-q/2, q/2]
//   key y        r = round((v_y + u - c) / q), k = c + q r
//   decoded      x' = (k - u) * scale
// The hash of a block is the sum over its coordinates of (k >> bits) times the dither's word, modulo 2^32: what the key
// adds to the low digit, with random factors. If the key leads to another sum of k, it misses that once in 2^32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "agent/core/quantizer_dither.h"

namespace weft {

struct Lattice {
  std::size_t count = 0;  // coordinates: a multiple of 64
  int bits = 8;           // q = 2^bits
  float scale = 0;        // 0: decodes to 0
  float inverse = 0;      // 1 / scale, 0 for 0
  BlockDither dither;
};

struct DecodedBlock {
  std::uint32_t hash = 0;
  float distance = 0;  // max|x' - y|
};

// The bits of the largest |x|; at or above 0x7f800000 if there is an infinity or a NaN.
std::uint32_t LargestMagnitude(const float* x, std::size_t count);

// Codes are bytes up to 8 bits, words above. |x| <= scale (q - 1) / 2.
template <typename Code>
void EncodeDeltaBlock(const Lattice& lattice, const float* x, Code* codes, float* decoded);
template <typename Code>
void DecodeDeltaBlock(const Lattice& lattice, const Code* codes, float* x);
template <typename Code>
void AddDeltaBlock(const Lattice& lattice, const Code* codes, float* sum);  // sum += x'

// |x| <= 2^20 scale. Returns the hash.
std::uint32_t EncodeRegisterBlock(const Lattice& lattice, const float* x, std::int32_t* k);
template <typename Code>
DecodedBlock DecodeRegisterBlock(const Lattice& lattice, const Code* codes, const float* y, float* x);
// The same where `code_bits` of k are known, a multiple of the lattice's.
DecodedBlock DecodeRegisterBlock(const Lattice& lattice, int code_bits, const std::uint32_t* codes, const float* y,
                                 float* x);

}  // namespace weft
