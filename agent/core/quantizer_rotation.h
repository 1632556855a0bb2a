// The random rotation of a block: signs and a Walsh-Hadamard transform, not normalized, so that it needs no square
// root.
//
// rotate:      z = H D x           inverse:   x = D H z / m
// with D the block's signs (quantizer_dither.h) and H the m x m Hadamard matrix in natural order, m a power of two. Its
// stages combine neighbours at a distance of 1, 2, 4, …, m/2 in this order: (a, b) becomes (a + b, a - b). A spike of
// size 1 becomes m of size 1 among which each has an m-th of its square: the largest coordinate is then not far above
// the mean, which is what a lattice of one scale a block wants.
#pragma once

#include <cstddef>
#include <cstdint>

#include "agent/core/quantizer_vectors.h"

namespace weft {

struct Rotation {
  std::uint64_t key = 0;  // RotationKey(seed, block)
  std::size_t m = 0;      // 64 to 4096
  LatticeVectors vectors = LatticeVectors::kWidest;
};

// From x to z; they may be the same.
void Rotate(const Rotation& rotation, const float* x, float* z);
// From z to x; they may be the same. z is overwritten.
void Unrotate(const Rotation& rotation, float* z, float* x);

// A copy to memory that is not read soon: it does not fetch the lines that it overwrites.
void CopyPastCaches(const float* from, std::size_t count, float* to);

}  // namespace weft
