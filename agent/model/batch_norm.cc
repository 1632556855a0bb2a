#include "agent/model/batch_norm.h"

#include <cmath>
#include <cstddef>

#include "agent/model/vector_math.h"

namespace weft {
namespace {

constexpr float kEpsilon = 1e-5F;

}  // namespace

BatchNorm::BatchNorm(std::int64_t channels, std::int64_t area) : channels_(channels), area_(area) {
  const auto size = static_cast<std::size_t>(channels);
  mean_.resize(size);
  variance_.resize(size);
  inverse_deviation_.resize(size);
  factor_.resize(size);
  offset_.resize(size);
}

void BatchNorm::ForwardTrain(std::int64_t n, const float* scale, const float* shift, const float* x,
                             const float* residual, float* y) {
  count_ = n * area_;
  for (std::int64_t c = 0; c < channels_; ++c) {
    // Plane by plane, while it is in the cache, and then combined (Chan, Golub and LeVeque 1983): one walk through
    // memory, without the cancellation of E[x^2] - E[x]^2.
    double mean = 0;
    double squares = 0;  // of the distances from the mean
    double seen = 0;
    const auto area = static_cast<double>(area_);
    for (std::int64_t i = 0; i < n; ++i) {
      const float* plane = x + (i * channels_ + c) * area_;
      const float plane_mean = LaneSum(area_, [plane](std::int64_t j) { return plane[j]; }) / static_cast<float>(area_);
      const float plane_squares = LaneSum(area_, [plane, plane_mean](std::int64_t j) {
        const float distance = plane[j] - plane_mean;
        return distance * distance;
      });
      const double distance = static_cast<double>(plane_mean) - mean;
      mean += distance * area / (seen + area);
      squares += static_cast<double>(plane_squares) + distance * distance * seen * area / (seen + area);
      seen += area;
    }
    const auto k = static_cast<std::size_t>(c);
    mean_[k] = static_cast<float>(mean);
    variance_[k] = static_cast<float>(squares / seen);
    inverse_deviation_[k] = 1.0F / std::sqrt(variance_[k] + kEpsilon);
    factor_[k] = scale[c] * inverse_deviation_[k];
    offset_[k] = shift[c] - mean_[k] * factor_[k];
  }
  Apply(n, x, residual, y);
}

void BatchNorm::ForwardEvaluate(std::int64_t n, const float* scale, const float* shift, const float* running_mean,
                                const float* running_variance, const float* x, const float* residual, float* y) {
  for (std::int64_t c = 0; c < channels_; ++c) {
    const auto k = static_cast<std::size_t>(c);
    // A variance that was averaged or stepped below 0 by rounding counts as 0.
    const float variance = running_variance[c] > 0 ? running_variance[c] : 0;
    factor_[k] = scale[c] / std::sqrt(variance + kEpsilon);
    offset_[k] = shift[c] - running_mean[c] * factor_[k];
  }
  Apply(n, x, residual, y);
}

void BatchNorm::Apply(std::int64_t n, const float* x, const float* residual, float* y) const {
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < factor_.size(); ++c, x += area_, y += area_) {
      const float factor = factor_[c];
      const float offset = offset_[c];
      if (residual == nullptr) {
        for (std::int64_t j = 0; j < area_; ++j) {
          const float v = x[j] * factor + offset;
          y[j] = v > 0 ? v : 0;
        }
      } else {
        for (std::int64_t j = 0; j < area_; ++j) {
          const float v = x[j] * factor + offset + residual[j];
          y[j] = v > 0 ? v : 0;
        }
        residual += area_;
      }
    }
  }
}

// With h = (x - mean) / deviation and N values a channel: dshift = sum dy, dscale = sum dy h, and
// dx = scale / deviation (dy - dshift / N - h dscale / N).
void BatchNorm::Backward(std::int64_t n, const float* scale, const float* x, const float* y, float* dy, float* dscale,
                         float* dshift, float* dx) const {
  for (std::int64_t c = 0; c < channels_; ++c) {
    const auto k = static_cast<std::size_t>(c);
    const float mean = mean_[k];
    double sum = 0;
    double product = 0;  // sum of dy (x - mean)
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = (i * channels_ + c) * area_;
      const float* px = x + at;
      const float* py = y + at;
      float* pdy = dy + at;
      for (std::int64_t j = 0; j < area_; ++j) pdy[j] = py[j] > 0 ? pdy[j] : 0;
      sum += static_cast<double>(LaneSum(area_, [pdy](std::int64_t j) { return pdy[j]; }));
      product +=
          static_cast<double>(LaneSum(area_, [pdy, px, mean](std::int64_t j) { return pdy[j] * (px[j] - mean); }));
    }
    const auto inverse = static_cast<double>(inverse_deviation_[k]);
    dshift[c] = static_cast<float>(sum);
    dscale[c] = static_cast<float>(product * inverse);
    const auto count = static_cast<double>(count_);
    // dx = a dy - b (x - mean) - d
    const float a = scale[c] * inverse_deviation_[k];
    const float b = static_cast<float>(static_cast<double>(a) * product * inverse * inverse / count);
    const float d = static_cast<float>(static_cast<double>(a) * sum / count);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = (i * channels_ + c) * area_;
      const float* px = x + at;
      const float* pdy = dy + at;
      float* pdx = dx + at;
      for (std::int64_t j = 0; j < area_; ++j) pdx[j] = a * pdy[j] - b * (px[j] - mean) - d;
    }
  }
}

void BatchNorm::StatisticGradients(const float* running_mean, const float* running_variance, float* dmean,
                                   float* dvariance) const {
  const auto count = static_cast<float>(count_);
  const float unbiased = count_ > 1 ? count / (count - 1.0F) : 1.0F;
  for (std::int64_t c = 0; c < channels_; ++c) {
    const auto k = static_cast<std::size_t>(c);
    dmean[c] = running_mean[c] - mean_[k];
    dvariance[c] = running_variance[c] - variance_[k] * unbiased;
  }
}

}  // namespace weft
