#include "agent/train/mean_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(MeanOfTest, FiniteModels_GiveMeanAndVariance) {
  const std::vector<std::vector<float>> models = {{1, 2}, {3, 6}};
  const MeanModel mean = MeanOf(models);
  EXPECT_THAT(mean.weights, ElementsAre(2, 4));
  EXPECT_DOUBLE_EQ(mean.variance, 2 * (1 + 4));
  EXPECT_THAT(mean.not_finite, IsEmpty());
}

TEST(MeanOfTest, OneWeightIsNotFinite_LeavesThatModelOut) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<std::vector<float>> models = {{nan, 2}, {3, 6}, {1, -infinity}, {5, 8}};
  const MeanModel mean = MeanOf(models);
  EXPECT_THAT(mean.weights, ElementsAre(4, 7));
  EXPECT_DOUBLE_EQ(mean.variance, 2 * (1 + 1));
  EXPECT_THAT(mean.not_finite, ElementsAre(0, 2));
}

TEST(MeanOfTest, NoModelIsFinite_TheMeanIsNotEither) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::vector<float>> models = {{nan}, {nan}};
  EXPECT_TRUE(std::isnan(MeanOf(models).weights[0]));
  EXPECT_THAT(MeanOf(models).not_finite, ElementsAre(0, 1));
}

}  // namespace
}  // namespace weft
