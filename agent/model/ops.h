// What the models do beside products: element-wise steps, reductions and the loss. Arrays are row-major float32.
#pragma once

#include <cstdint>
#include <span>

#include "agent/model/model.h"

namespace weft {

// y[r, c] += bias[c], in place.
void AddBias(std::int64_t rows, std::int64_t cols, const float* bias, float* y);

// y[r, c] = max(y[r, c] + bias[c], 0), in place.
void AddBiasRelu(std::int64_t rows, std::int64_t cols, const float* bias, float* y);

// dy[i] = 0 where y[i], the output of a ReLU, is 0; in place.
void ReluBackward(std::int64_t count, const float* y, float* dy);

// y = x P(Z <= x) for a standard normal Z (Hendrycks and Gimpel 2016); overwritten.
void GeluForward(std::int64_t count, const float* x, float* y);

// dx = dy (P(Z <= x) + x p(x)), p the normal density; overwritten, dx may be dy.
void GeluBackward(std::int64_t count, const float* x, const float* dy, float* dx);

// sum[c] = sum over r of x[r, c]; overwritten.
void ColumnSum(std::int64_t rows, std::int64_t cols, const float* x, float* sum);

// Cross-entropy of softmax(logits[rows, classes]) against targets[rows], in nats, summed; a row counts as correct when
// its first largest logit is the target. With `scale` above 0 the logits are overwritten by the gradient of scale times
// that sum: scale * (softmax - onehot).
BatchResult SoftmaxCrossEntropy(std::int64_t rows, std::int64_t classes, std::span<const std::int32_t> targets,
                                float scale, float* logits);

}  // namespace weft
