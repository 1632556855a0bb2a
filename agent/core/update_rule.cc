#include "agent/core/update_rule.h"

#include <cmath>
#include <cstddef>

#include "common/check.h"

// The loops index raw pointers: a checked operator[] of span would keep them from being vectorized.
namespace weft {
namespace {

void CheckSameSize(std::size_t a, std::size_t b) {
  WEFT_CHECK(a == b) << "spans of " << a << " and " << b << " floats";
}

}  // namespace

void ApplyElasticTerm(std::span<float> weights, std::span<const float> snapshot, std::span<const float> centre,
                      float elastic_rate) {
  CheckSameSize(weights.size(), snapshot.size());
  CheckSameSize(weights.size(), centre.size());
  float* w = weights.data();
  const float* s = snapshot.data();
  const float* c = centre.data();
  for (std::size_t i = 0; i < weights.size(); ++i) w[i] -= elastic_rate * (s[i] - c[i]);
}

void ElasticDelta(std::span<float> delta, std::span<const float> snapshot, std::span<const float> centre,
                  float elastic_rate) {
  CheckSameSize(delta.size(), snapshot.size());
  CheckSameSize(delta.size(), centre.size());
  float* d = delta.data();
  const float* s = snapshot.data();
  const float* c = centre.data();
  for (std::size_t i = 0; i < delta.size(); ++i) d[i] = elastic_rate * (s[i] - c[i]);
}

void SubtractInto(std::span<float> weights, std::span<const float> delta) {
  CheckSameSize(weights.size(), delta.size());
  float* w = weights.data();
  const float* d = delta.data();
  for (std::size_t i = 0; i < weights.size(); ++i) w[i] -= d[i];
}

void AddInto(std::span<float> sum, std::span<const float> values) {
  CheckSameSize(sum.size(), values.size());
  float* s = sum.data();
  const float* v = values.data();
  for (std::size_t i = 0; i < sum.size(); ++i) s[i] += v[i];
}

void AddScaledInto(std::span<float> sum, std::span<const float> values, float factor) {
  CheckSameSize(sum.size(), values.size());
  float* s = sum.data();
  const float* v = values.data();
  for (std::size_t i = 0; i < sum.size(); ++i) s[i] += factor * v[i];
}

void ScaleInPlace(std::span<float> values, float factor) {
  float* v = values.data();
  for (std::size_t i = 0; i < values.size(); ++i) v[i] *= factor;
}

void DivideInPlace(std::span<float> values, float divisor) {
  float* v = values.data();
  for (std::size_t i = 0; i < values.size(); ++i) v[i] /= divisor;
}

void CommitCentre(std::span<float> sum, std::span<const float> centre, int workers, float center_rate) {
  CheckSameSize(sum.size(), centre.size());
  const float keep = 1.0F - center_rate;
  const float count = static_cast<float>(workers);
  float* s = sum.data();
  const float* c = centre.data();
  for (std::size_t i = 0; i < sum.size(); ++i) s[i] = keep * c[i] + center_rate * (s[i] / count);
}

void SgdStep(std::span<float> weights, std::span<const float> gradient, std::span<float> velocity,
             const SgdRates& rates, bool first_step) {
  CheckSameSize(weights.size(), gradient.size());
  const auto [learning_rate, momentum, weight_decay] = rates;
  float* w = weights.data();
  const float* g = gradient.data();
  if (momentum == 0) {
    for (std::size_t i = 0; i < weights.size(); ++i) w[i] -= learning_rate * (g[i] + weight_decay * w[i]);
    return;
  }
  CheckSameSize(weights.size(), velocity.size());
  float* v = velocity.data();
  if (first_step) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      v[i] = g[i] + weight_decay * w[i];
      w[i] -= learning_rate * v[i];
    }
    return;
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    v[i] = momentum * v[i] + (g[i] + weight_decay * w[i]);
    w[i] -= learning_rate * v[i];
  }
}

void AdamWStep(std::span<float> weights, std::span<const float> gradient, std::span<float> first_moment,
               std::span<float> second_moment, const AdamWRates& rates, std::int64_t step) {
  CheckSameSize(weights.size(), gradient.size());
  CheckSameSize(weights.size(), first_moment.size());
  CheckSameSize(weights.size(), second_moment.size());
  WEFT_CHECK(step >= 1) << "step " << step;
  const double s = static_cast<double>(step);
  const float shrink = static_cast<float>(1 - rates.learning_rate * rates.weight_decay);
  const float beta1 = static_cast<float>(rates.beta1), one_minus_beta1 = static_cast<float>(1 - rates.beta1);
  const float beta2 = static_cast<float>(rates.beta2), one_minus_beta2 = static_cast<float>(1 - rates.beta2);
  const float rate = static_cast<float>(rates.learning_rate / (1 - std::pow(rates.beta1, s)));
  const float correction = static_cast<float>(std::sqrt(1 - std::pow(rates.beta2, s)));
  const float epsilon = static_cast<float>(rates.epsilon);
  float* w = weights.data();
  const float* g = gradient.data();
  float* m = first_moment.data();
  float* v = second_moment.data();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    m[i] = beta1 * m[i] + one_minus_beta1 * g[i];
    v[i] = beta2 * v[i] + one_minus_beta2 * (g[i] * g[i]);
    w[i] = w[i] * shrink - rate * (m[i] / (std::sqrt(v[i]) / correction + epsilon));
  }
}

}  // namespace weft
