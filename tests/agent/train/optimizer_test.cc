#include "agent/train/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace weft {
namespace {

using testing::ElementsAre;
using testing::FloatEq;

TEST(OptimizerTest, Sgd_TwoSteps_FollowsMomentumAndDecay) {
  std::vector<float> weights = {1, 2};
  std::vector<float> gradients = {0.5, -1};
  Optimizer optimizer({.type = OptimizerType::kSGD, .momentum = 0.5, .weight_decay = 0.1}, weights, gradients,
                      [](std::int64_t) { return 0.1; });
  optimizer.Step({0, 2}, 1);
  // d = g + 0.1 w = {0.6, -0.8}; v = d
  EXPECT_THAT(weights, ElementsAre(FloatEq(0.94F), FloatEq(2.08F)));
  optimizer.Step({0, 2}, 2);
  // d = {0.594, -0.792}; v = 0.5 v + d = {0.894, -1.192}
  EXPECT_THAT(weights, ElementsAre(FloatEq(0.8506F), FloatEq(2.1992F)));
}

TEST(OptimizerTest, Step_OfARange_LeavesTheRestAlone) {
  std::vector<float> weights = {1, 1, 1};
  std::vector<float> gradients = {1, 1, 1};
  Optimizer optimizer({.type = OptimizerType::kSGD, .momentum = 0.9, .weight_decay = 0}, weights, gradients,
                      [](std::int64_t) { return 0.5; });
  optimizer.Step({1, 1}, 1);
  EXPECT_THAT(weights, ElementsAre(1, 0.5, 1));
  EXPECT_THAT(std::vector(optimizer.state()[0].values.begin(), optimizer.state()[0].values.end()),
              ElementsAre(0, 1, 0));
}

TEST(OptimizerTest, LearningRate_IsThatOfTheGradientsIteration) {
  std::vector<float> weights = {0};
  std::vector<float> gradients = {1};
  Optimizer optimizer({.type = OptimizerType::kSGD, .momentum = 0, .weight_decay = 0}, weights, gradients,
                      [](std::int64_t iteration) { return iteration == 7 ? 1.0 : 100.0; });
  optimizer.Step({0, 1}, 7);
  EXPECT_THAT(weights, ElementsAre(-1));
  EXPECT_TRUE(optimizer.state().empty());
}

TEST(OptimizerTest, Reset_InMidRun_StartsTheMomentsAnew) {
  std::vector<float> weights = {0}, fresh_weights = {0}, gradients = {1};
  const OptimizerSpec spec{.type = OptimizerType::kAdamW, .weight_decay = 0};
  const auto rate = [](std::int64_t) { return 0.1; };
  Optimizer optimizer(spec, weights, gradients, rate), fresh(spec, fresh_weights, gradients, rate);
  for (std::int64_t t = 1; t <= 20; ++t) optimizer.Step({0, 1}, t);
  optimizer.Reset(20);
  weights = {0};
  for (std::int64_t t = 1; t <= 3; ++t) {
    gradients[0] = static_cast<float>(t);
    optimizer.Step({0, 1}, 20 + t);
    fresh.Step({0, 1}, t);
  }
  EXPECT_EQ(weights, fresh_weights);
}

TEST(OptimizerTest, AdamW_FirstStep_MovesByTheRateAgainstTheSign) {
  std::vector<float> weights = {1, 1};
  std::vector<float> gradients = {3, -0.01F};
  Optimizer optimizer({.type = OptimizerType::kAdamW, .weight_decay = 0}, weights, gradients,
                      [](std::int64_t) { return 0.01; });
  optimizer.Step({0, 2}, 1);
  EXPECT_NEAR(weights[0], 0.99, 1e-5);
  EXPECT_NEAR(weights[1], 1.01, 1e-5);
  ASSERT_EQ(optimizer.state().size(), 2u);
  EXPECT_EQ(optimizer.state()[0].name, "first_moment");
}

TEST(OptimizerTest, RunningStatistics_MoveByTheirOwnRule) {
  std::vector<float> weights = {1, 1, 1, 1};
  std::vector<float> gradients = {1, 1, 1, 1};
  Optimizer optimizer({.type = OptimizerType::kSGD, .momentum = 0, .weight_decay = 0}, weights, gradients,
                      [](std::int64_t) { return 0.5; }, {{1, 2}});
  optimizer.Step({0, 4}, 1);
  EXPECT_THAT(weights, ElementsAre(0.5, FloatEq(0.9F), FloatEq(0.9F), 0.5));
  optimizer.Step({2, 2}, 2);
  EXPECT_THAT(weights, ElementsAre(0.5, FloatEq(0.9F), FloatEq(0.8F), 0));
}

TEST(OptimizerTest, Reset_ForgetsTheState) {
  std::vector<float> weights = {1};
  std::vector<float> gradients = {1};
  Optimizer optimizer({.type = OptimizerType::kSGD, .momentum = 0.9}, weights, gradients,
                      [](std::int64_t) { return 0.1; });
  optimizer.Step({0, 1}, 1);
  optimizer.Reset();
  EXPECT_EQ(optimizer.state()[0].values[0], 0);
}

}  // namespace
}  // namespace weft
