#include "agent/model/attention.h"

#include <algorithm>
#include <cmath>

#include "agent/model/gemm.h"
#include "agent/model/vector_math.h"

namespace weft {

void AttentionForward(const AttentionShape& shape, std::int64_t n, const float* qkv, float* probabilities, float* y) {
  const std::int64_t t = shape.context;
  const std::int64_t c = shape.width;
  const std::int64_t size = c / shape.heads;
  const float scale = 1.0F / std::sqrt(static_cast<float>(size));
  for (std::int64_t sample = 0; sample < n; ++sample, qkv += t * 3 * c, y += t * c) {
    for (std::int64_t head = 0; head < shape.heads; ++head, probabilities += t * t) {
      const float* q = qkv + head * size;
      const ConstMatrix keys{q + c, t, size, 3 * c};
      const ConstMatrix values{q + 2 * c, t, size, 3 * c};
      MultiplyNT({q, t, size, 3 * c}, keys, {probabilities, t, t, t});
      for (std::int64_t i = 0; i < t; ++i) {
        float* row = probabilities + i * t;
        const std::int64_t seen = i + 1;
        const float largest = *std::max_element(row, row + seen) * scale;
        for (std::int64_t j = 0; j < seen; ++j) row[j] = FastExp(row[j] * scale - largest);
        const float inverse = 1.0F / LaneSum(seen, [row](std::int64_t j) { return row[j]; });
        for (std::int64_t j = 0; j < seen; ++j) row[j] *= inverse;
        std::fill(row + seen, row + t, 0.0F);
      }
      MultiplyNN({probabilities, t, t, t}, values, {y + head * size, t, size, c});
    }
  }
}

void AttentionBackward(const AttentionShape& shape, std::int64_t n, const float* qkv, const float* probabilities,
                       const float* dy, float* scratch, float* dqkv) {
  const std::int64_t t = shape.context;
  const std::int64_t c = shape.width;
  const std::int64_t size = c / shape.heads;
  const float scale = 1.0F / std::sqrt(static_cast<float>(size));
  for (std::int64_t sample = 0; sample < n; ++sample, qkv += t * 3 * c, dqkv += t * 3 * c, dy += t * c) {
    for (std::int64_t head = 0; head < shape.heads; ++head, probabilities += t * t) {
      const float* q = qkv + head * size;
      float* dq = dqkv + head * size;
      const ConstMatrix dout{dy + head * size, t, size, c};
      MultiplyTN({probabilities, t, t, t}, dout, {dq + 2 * c, t, size, 3 * c});
      MultiplyNT(dout, {q + 2 * c, t, size, 3 * c}, {scratch, t, t, t});
      // Of the scores: p (dp - sum of p dp), 0 where p is.
      for (std::int64_t i = 0; i < t; ++i) {
        const float* p = probabilities + i * t;
        float* dp = scratch + i * t;
        const float mean = LaneSum(i + 1, [p, dp](std::int64_t j) { return p[j] * dp[j]; });
        for (std::int64_t j = 0; j < t; ++j) dp[j] = p[j] * (dp[j] - mean) * scale;
      }
      MultiplyNN({scratch, t, t, t}, {q + c, t, size, 3 * c}, {dq, t, size, 3 * c});
      MultiplyTN({scratch, t, t, t}, {q, t, size, 3 * c}, {dq + c, t, size, 3 * c});
    }
  }
}

}  // namespace weft
