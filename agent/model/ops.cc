#include "agent/model/ops.h"

#include <algorithm>
#include <cmath>

#include "agent/model/vector_math.h"

namespace weft {

void AddBias(std::int64_t rows, std::int64_t cols, const float* bias, float* y) {
  for (std::int64_t r = 0; r < rows; ++r, y += cols) {
    for (std::int64_t c = 0; c < cols; ++c) y[c] += bias[c];
  }
}

void AddBiasRelu(std::int64_t rows, std::int64_t cols, const float* bias, float* y) {
  for (std::int64_t r = 0; r < rows; ++r, y += cols) {
    for (std::int64_t c = 0; c < cols; ++c) {
      const float v = y[c] + bias[c];
      y[c] = v > 0 ? v : 0;
    }
  }
}

void ReluBackward(std::int64_t count, const float* y, float* dy) {
  for (std::int64_t i = 0; i < count; ++i) dy[i] = y[i] > 0 ? dy[i] : 0;
}

void GeluForward(std::int64_t count, const float* x, float* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] * NormalCdf(x[i], FastExp(-0.5F * x[i] * x[i]));
}

void GeluBackward(std::int64_t count, const float* x, const float* dy, float* dx) {
  constexpr float kDensity = 0.3989422804F;  // 1 / sqrt(2 pi)
  for (std::int64_t i = 0; i < count; ++i) {
    const float e = FastExp(-0.5F * x[i] * x[i]);
    dx[i] = dy[i] * (NormalCdf(x[i], e) + x[i] * kDensity * e);
  }
}

void ColumnSum(std::int64_t rows, std::int64_t cols, const float* x, float* sum) {
  std::fill(sum, sum + cols, 0.0F);
  for (std::int64_t r = 0; r < rows; ++r, x += cols) {
    for (std::int64_t c = 0; c < cols; ++c) sum[c] += x[c];
  }
}

BatchResult SoftmaxCrossEntropy(std::int64_t rows, std::int64_t classes, std::span<const std::int32_t> targets,
                                float scale, float* logits) {
  BatchResult result;
  result.predictions = rows;
  for (std::int64_t r = 0; r < rows; ++r, logits += classes) {
    const std::int32_t target = targets[static_cast<std::size_t>(r)];
    const float* largest = std::max_element(logits, logits + classes);
    const float maximum = *largest;
    if (largest - logits == target) ++result.correct;
    const float target_logit = logits[target];
    float sum = 0;
    if (scale > 0) {
      for (std::int64_t c = 0; c < classes; ++c) logits[c] = FastExp(logits[c] - maximum);
      for (std::int64_t c = 0; c < classes; ++c) sum += logits[c];
      const float factor = scale / sum;
      for (std::int64_t c = 0; c < classes; ++c) logits[c] *= factor;
      logits[target] -= scale;
    } else {
      for (std::int64_t c = 0; c < classes; ++c) sum += FastExp(logits[c] - maximum);
    }
    result.loss_sum += std::log(static_cast<double>(sum)) - static_cast<double>(target_logit - maximum);
  }
  return result;
}

}  // namespace weft
