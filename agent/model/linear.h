// A fully connected layer on row-major buffers: y[n, out] = x[n, in] W[out, in]^T + b[out], with or without a ReLU.
#pragma once

#include <cstdint>

namespace weft {

enum class Activation { kNone, kRelu };

struct LinearShape {
  std::int64_t in = 0;
  std::int64_t out = 0;
};

// y is overwritten.
void LinearForward(LinearShape shape, std::int64_t n, const float* weight, const float* bias, Activation activation,
                   const float* x, float* y);

// dW = dy^T x, db = sum of dy over n, dx = dy W; all overwritten. dx may be null. dy is the gradient before the bias: a
// ReLU's mask has been applied to it.
void LinearBackward(LinearShape shape, std::int64_t n, const float* weight, const float* x, const float* dy,
                    float* dweight, float* dbias, float* dx);

}  // namespace weft
