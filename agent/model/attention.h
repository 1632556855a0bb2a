// Causal self-attention (Vaswani et al. 2017) on what its input projection made.
#pragma once

#include <cstdint>

namespace weft {

struct AttentionShape {
  std::int64_t context = 0;  // T
  std::int64_t width = 0;    // C, a multiple of heads
  std::int64_t heads = 0;    // H
};

// qkv[n, T, 3C] holds queries, keys and values side by side, each cut into heads of C / H. Overwrites
// probabilities[n, H, T, T] with softmax(q k^T / sqrt(C / H)) over the keys up to the query's position, 0 behind it,
// and y[n, T, C] with its product with the values.
void AttentionForward(const AttentionShape& shape, std::int64_t n, const float* qkv, float* probabilities, float* y);

// Overwrites dqkv[n, T, 3C]. `scratch` has room for [T, T].
void AttentionBackward(const AttentionShape& shape, std::int64_t n, const float* qkv, const float* probabilities,
                       const float* dy, float* scratch, float* dqkv);

}  // namespace weft
