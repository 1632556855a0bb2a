// Batch normalization (Ioffe and Szegedy 2015) with what follows it in a residual network: an addition and a ReLU.
// Arrays are [n, channels, area] float32; epsilon is 1e-5. Means and variances are over n and area.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

class BatchNorm {
 public:
  BatchNorm(std::int64_t channels, std::int64_t area);

  // y = max(0, scale (x - mean) / sqrt(variance + epsilon) + shift + residual) with the batch's mean and (biased)
  // variance, which Backward needs again. residual may be null; y may be x's memory if x is not needed again.
  void ForwardTrain(std::int64_t n, const float* scale, const float* shift, const float* x, const float* residual,
                    float* y);

  // The same with the given running statistics.
  void ForwardEvaluate(std::int64_t n, const float* scale, const float* shift, const float* running_mean,
                       const float* running_variance, const float* x, const float* residual, float* y);

  // After ForwardTrain. dy, the gradient of y, gets the ReLU's mask (0 where y is 0) in place: it then is the gradient
  // of the residual. Overwrites dscale, dshift and dx; dx may be dy.
  void Backward(std::int64_t n, const float* scale, const float* x, const float* y, float* dy, float* dscale,
                float* dshift, float* dx) const;

  // The running statistic minus the batch's, the variance's unbiased: what model.h calls their gradient. Overwritten.
  void StatisticGradients(const float* running_mean, const float* running_variance, float* dmean,
                          float* dvariance) const;

 private:
  void Apply(std::int64_t n, const float* x, const float* residual, float* y) const;

  const std::int64_t channels_;
  const std::int64_t area_;
  // Of the last ForwardTrain, by channel.
  std::int64_t count_ = 0;  // values a channel
  std::vector<float> mean_;
  std::vector<float> variance_;
  std::vector<float> inverse_deviation_;
  // Of the last forward: y = factor x + offset.
  std::vector<float> factor_;
  std::vector<float> offset_;
};

}  // namespace weft
