#include "agent/core/update_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace weft {
namespace {

std::vector<float> RandomFloats(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

TEST(UpdateRuleTest, ElasticTerm_OneValue_MovesTowardsTheCentre) {
  std::vector<float> weights = {1.0F};
  ApplyElasticTerm(weights, std::vector<float>{2.0F}, std::vector<float>{4.0F}, 0.25F);
  EXPECT_EQ(weights[0], 1.5F);
}

TEST(UpdateRuleTest, ElasticDelta_Subtracted_GivesTheElasticTermBitForBit) {
  for (const std::size_t count : {0, 1, 7, 1000}) {
    const auto snapshot = RandomFloats(count, 1), centre = RandomFloats(count, 2);
    auto fused = RandomFloats(count, 3), split = fused;
    ApplyElasticTerm(fused, snapshot, centre, 0.3F);
    std::vector<float> delta(count);
    ElasticDelta(delta, snapshot, centre, 0.3F);
    SubtractInto(split, delta);
    EXPECT_EQ(fused, split);
  }
}

TEST(UpdateRuleTest, CommitCentre_TwoPushes_MixesTheMeanIn) {
  std::vector<float> sum = {1.0F};
  AddInto(sum, std::vector<float>{3.0F});
  CommitCentre(sum, std::vector<float>{10.0F}, 2, 0.75F);
  EXPECT_EQ(sum[0], 0.25F * 10 + 0.75F * 2);
}

// Section 3: with g = 0, w + sum_k w^k is conserved when beta = K alpha.
TEST(UpdateRuleTest, ElasticAveraging_WithoutGradients_ConservesTheSum) {
  constexpr int kWorkers = 3;
  constexpr float kAlpha = 0.3F;
  std::vector<float> centre = RandomFloats(100, 9);
  std::vector<std::vector<float>> workers;
  for (unsigned k = 0; k < kWorkers; ++k) workers.push_back(RandomFloats(100, k));
  const auto total = [&](std::size_t i) {
    double sum = centre[i];
    for (const auto& w : workers) sum += static_cast<double>(w[i]);
    return sum;
  };
  std::vector<double> before(100);
  for (std::size_t i = 0; i < 100; ++i) before[i] = total(i);
  for (int round = 0; round < 20; ++round) {
    std::vector<float> sum = workers[0];
    for (int k = 1; k < kWorkers; ++k) AddInto(sum, workers[static_cast<std::size_t>(k)]);
    for (auto& w : workers) ApplyElasticTerm(w, std::vector<float>(w), centre, kAlpha);
    CommitCentre(sum, centre, kWorkers, kWorkers * kAlpha);
    centre = sum;
  }
  for (std::size_t i = 0; i < 100; ++i) EXPECT_NEAR(total(i), before[i], 1e-5);
}

TEST(UpdateRuleTest, WeightedMean_UnevenWeights_IsThatOfTheJoinedBatch) {
  std::vector<float> sum = {1.0F};
  ScaleInPlace(sum, 3.0F);
  AddScaledInto(sum, std::vector<float>{5.0F}, 1.0F);
  DivideInPlace(sum, 4.0F);
  EXPECT_EQ(sum[0], 2.0F);
}

// torch.optim.SGD([w], lr=0.1, momentum=0.9, weight_decay=0.01), w = 1, gradients 0.5 and -0.25, worked by hand.
TEST(UpdateRuleTest, SgdStep_MomentumAndWeightDecay_FollowsPyTorch) {
  std::vector<float> weights = {1.0F}, velocity = {0.0F};
  const SgdRates rates{.learning_rate = 0.1F, .momentum = 0.9F, .weight_decay = 0.01F};
  SgdStep(weights, std::vector<float>{0.5F}, velocity, rates, true);
  EXPECT_NEAR(weights[0], 0.949, 1e-7);
  SgdStep(weights, std::vector<float>{-0.25F}, velocity, rates, false);
  EXPECT_NEAR(velocity[0], 0.9 * 0.51 - 0.25 + 0.01 * 0.949, 1e-7);
  EXPECT_NEAR(weights[0], 0.949 - 0.1 * (0.9 * 0.51 - 0.25 + 0.01 * 0.949), 1e-7);
}

TEST(UpdateRuleTest, SgdStep_NoMomentum_NeedsNoVelocity) {
  std::vector<float> weights = {1.0F};
  SgdStep(weights, std::vector<float>{0.5F}, {}, {.learning_rate = 0.1F, .momentum = 0, .weight_decay = 0}, true);
  EXPECT_FLOAT_EQ(weights[0], 0.95F);
}

TEST(UpdateRuleTest, AdamWStep_FiftySteps_FollowsTheEquationsInDouble) {
  const AdamWRates rates{.learning_rate = 0.01, .weight_decay = 0.1};
  std::vector<float> weights = RandomFloats(37, 1), m(37), v(37);
  std::vector<double> w2(weights.begin(), weights.end()), m2(37), v2(37);
  for (int step = 1; step <= 50; ++step) {
    const auto gradient = RandomFloats(37, 100 + static_cast<unsigned>(step));
    AdamWStep(weights, gradient, m, v, rates, step);
    for (std::size_t i = 0; i < 37; ++i) {
      const double g = static_cast<double>(gradient[i]);
      w2[i] *= 1 - 0.01 * 0.1;
      m2[i] = 0.9 * m2[i] + 0.1 * g;
      v2[i] = 0.999 * v2[i] + 0.001 * g * g;
      const double m_hat = m2[i] / (1 - std::pow(0.9, step)), v_hat = v2[i] / (1 - std::pow(0.999, step));
      w2[i] -= 0.01 * m_hat / (std::sqrt(v_hat) + 1e-8);
    }
  }
  for (std::size_t i = 0; i < 37; ++i) EXPECT_NEAR(static_cast<double>(weights[i]), w2[i], 2e-5);
}

}  // namespace
}  // namespace weft
