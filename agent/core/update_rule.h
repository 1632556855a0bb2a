// The arithmetic of the update rules, on spans of floats: elastic averaging for the interleaved parameter server, the
// weighted mean for the synchronous ones, and the optimizers' steps. Pure: no state, no allocation, no errors. All
// spans of one call have one length (checked) and do not overlap. The folder is compiled without contraction to fused
// multiply-adds, so that the same input gives the same bits on every machine.
#pragma once

#include <cstdint>
#include <span>

namespace weft {

// Elastic averaging (EASGD; Zhang et al. 2015, and the interleaved parameter server's equations), for one group, with
// K workers and the centre c:
//   worker k:  w^k <- LocalStep(w^k, g^k) - elastic_rate (snapshot^k - c)
//   server:    c   <- (1 - center_rate) c + center_rate (sum_k snapshot^k / K)
// where snapshot^k is w^k from before its local step. With g = 0 and center_rate = K elastic_rate, c + sum_k w^k is
// conserved, to rounding.

// weights <- weights - elastic_rate * (snapshot - centre).
void ApplyElasticTerm(std::span<float> weights, std::span<const float> snapshot, std::span<const float> centre,
                      float elastic_rate);

// delta <- elastic_rate * (snapshot - centre): SubtractInto(weights, delta) is then ApplyElasticTerm, bit for bit.
void ElasticDelta(std::span<float> delta, std::span<const float> snapshot, std::span<const float> centre,
                  float elastic_rate);

// weights <- weights - delta.
void SubtractInto(std::span<float> weights, std::span<const float> delta);

// sum <- sum + values.
void AddInto(std::span<float> sum, std::span<const float> values);

// sum <- sum + factor * values.
void AddScaledInto(std::span<float> sum, std::span<const float> values, float factor);

// values <- factor * values.
void ScaleInPlace(std::span<float> values, float factor);

// values <- values / divisor. The divisor is not 0.
void DivideInPlace(std::span<float> values, float divisor);

// sum <- (1 - center_rate) * centre + center_rate * (sum / workers): the centre after the round whose pushes `sum` adds
// up. The centre is left whole.
void CommitCentre(std::span<float> sum, std::span<const float> centre, int workers, float center_rate);

// PyTorch's SGD (dampening 0, no Nesterov), step by step:
//   d <- gradient + weight_decay * weights
//   velocity <- first_step ? d : momentum * velocity + d       (momentum 0: velocity is neither read nor written)
//   weights <- weights - learning_rate * velocity
// Overwrites weights and velocity; with momentum 0, `velocity` may be empty.
struct SgdRates {
  float learning_rate = 0;
  float momentum = 0;
  float weight_decay = 0;
};
void SgdStep(std::span<float> weights, std::span<const float> gradient, std::span<float> velocity,
             const SgdRates& rates, bool first_step);

// PyTorch's AdamW (Loshchilov and Hutter 2019), s the 1-based step of these weights:
//   weights <- weights * (1 - learning_rate * weight_decay)
//   m <- beta1 m + (1 - beta1) gradient,  v <- beta2 v + (1 - beta2) gradient^2
//   weights <- weights - learning_rate / (1 - beta1^s) * m / (sqrt(v) / sqrt(1 - beta2^s) + epsilon)
// Overwrites weights, first_moment (m) and second_moment (v); both start at 0.
struct AdamWRates {
  double learning_rate = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
};
void AdamWStep(std::span<float> weights, std::span<const float> gradient, std::span<float> first_moment,
               std::span<float> second_moment, const AdamWRates& rates, std::int64_t step);

}  // namespace weft
