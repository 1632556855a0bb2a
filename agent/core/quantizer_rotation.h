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

namespace weft {

// In place; 64 <= m <= 4096.
void RotateBlock(std::uint64_t seed, std::size_t block, std::size_t m, float* x);
void UnrotateBlock(std::uint64_t seed, std::size_t block, std::size_t m, float* z);

}  // namespace weft
