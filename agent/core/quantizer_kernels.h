// The inner loops of the lattice code: one block of coordinates each.
//
// u is kept in units of 2^(b-32), where it is an integer: with h the coordinate's word (quantizer_dither.h),
// U = h >> b and u = U 2^(b-32) - 1/2. A number modulo q = 2^b in these units is one modulo 2^32, so that 32-bit words
// wrap around as the code wants it. With c the code, the low b bits of k,
//   w = (c << (32-b)) + 2^31-b - U  as a signed word is  k - u  in these units, wrapped into [-q/2, q/2)
//   key 0:  x' = w 2^(b-32) scale
//   key y:  r = round(y / (scale q) - w 2^-32),  x' = (w 2^-32 + r) (scale q)
// where round is to the nearest, halves to even. r counts the wraps: r = floor((k - u) / q + 1/2). A block's hash is
// the sum of r h over its coordinates modulo 2^32: what the key adds to the low digits, with random odd factors. A key
// that leads to other r is missed once in 2^31.
//
// Every path through here gives the same bits on every processor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "agent/core/quantizer_vectors.h"

namespace weft {

struct Lattice {
  std::size_t count = 0;  // coordinates: a multiple of 64
  int bits = 8;
  float scale = 0;  // 0: decodes to 0
  std::uint64_t block_key = 0;
  LatticeVectors vectors = LatticeVectors::kWidest;

  float inverse() const { return scale == 0 ? 0 : 1 / scale; }
  float steps() const { return static_cast<float>(1 << bits); }  // q
};

struct DecodedBlock {
  std::uint32_t hash = 0;
  float distance = 0;  // max|x' - y|; not finite if y is too far for arithmetic
};

// The bits of the largest |x|; at or above 0x7f800000 if there is an infinity or a NaN.
std::uint32_t LargestMagnitude(LatticeVectors vectors, const float* x, std::size_t count);

// `codes` has CodeBytes(bits) a coordinate, in quantizer_planes.h's order. |x| < scale (q - 1) / 2.
void EncodeDeltaBlock(const Lattice& lattice, const float* x, std::byte* codes, float* decoded);
void DecodeDeltaBlock(const Lattice& lattice, const std::byte* codes, float* x);
void AddDeltaBlock(const Lattice& lattice, const std::byte* codes, float* sum);  // sum += x'

// |x| <= 2^20 scale. Returns the hash.
std::uint32_t EncodeRegisterBlock(const Lattice& lattice, const float* x, std::int32_t* k);
DecodedBlock DecodeRegisterBlock(const Lattice& lattice, const std::byte* codes, const float* y, float* x);
// The same where `code_bits` of k are known, a multiple of the lattice's, in coordinates' order; one at a time.
DecodedBlock DecodeLevelBlock(const Lattice& lattice, int code_bits, const std::uint32_t* codes, const float* y,
                              float* x);

}  // namespace weft
