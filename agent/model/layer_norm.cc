#include "agent/model/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "agent/model/vector_math.h"

namespace weft {
namespace {

constexpr float kEpsilon = 1e-5F;

}  // namespace

void LayerNormForward(std::int64_t rows, std::int64_t width, const float* scale, const float* shift, const float* x,
                      float* y, float* mean, float* inverse_deviation) {
  const auto count = static_cast<float>(width);
  for (std::int64_t r = 0; r < rows; ++r, x += width, y += width) {
    const float m = LaneSum(width, [x](std::int64_t i) { return x[i]; }) / count;
    const float squares = LaneSum(width, [x, m](std::int64_t i) { return (x[i] - m) * (x[i] - m); });
    const float inverse = 1.0F / std::sqrt(squares / count + kEpsilon);
    for (std::int64_t i = 0; i < width; ++i) y[i] = (x[i] - m) * inverse * scale[i] + shift[i];
    mean[r] = m;
    inverse_deviation[r] = inverse;
  }
}

// With h = (x - mean) / deviation and g = scale dy: dx = (g - mean(g) - h mean(g h)) / deviation.
void LayerNormBackward(std::int64_t rows, std::int64_t width, const float* scale, const float* x, const float* mean,
                       const float* inverse_deviation, const float* dy, float* dscale, float* dshift, float* dx) {
  std::fill_n(dscale, width, 0.0F);
  std::fill_n(dshift, width, 0.0F);
  const auto count = static_cast<float>(width);
  for (std::int64_t r = 0; r < rows; ++r, x += width, dy += width, dx += width) {
    const float m = mean[r];
    const float inverse = inverse_deviation[r];
    const float g_mean = LaneSum(width, [scale, dy](std::int64_t i) { return scale[i] * dy[i]; }) / count;
    const float gh_mean =
        LaneSum(width, [=](std::int64_t i) { return scale[i] * dy[i] * (x[i] - m); }) * inverse / count;
    for (std::int64_t i = 0; i < width; ++i) {
      const float h = (x[i] - m) * inverse;
      dscale[i] += dy[i] * h;
      dshift[i] += dy[i];
      dx[i] += (scale[i] * dy[i] - g_mean - h * gh_mean) * inverse;
    }
  }
}

}  // namespace weft
