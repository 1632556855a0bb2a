#include "agent/train/schedule.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TrainingSpec Spec(ScheduleType type) {
  TrainingSpec spec;
  spec.optimizer.learning_rate = 0.1;
  spec.schedule.type = type;
  return spec;
}

TEST(LearningRateTest, Constant_NeverMoves) {
  const TrainingSpec spec = Spec(ScheduleType::kConstant);
  EXPECT_DOUBLE_EQ(LearningRate(spec, 10, 100, 1), 0.1);
  EXPECT_DOUBLE_EQ(LearningRate(spec, 10, 100, 100), 0.1);
}

TEST(LearningRateTest, Warmup_RisesLinearlyToTheBase) {
  TrainingSpec spec = Spec(ScheduleType::kConstant);
  spec.schedule.warmup_epochs = 2;
  EXPECT_DOUBLE_EQ(LearningRate(spec, 10, 100, 1), 0.1 / 20);
  EXPECT_DOUBLE_EQ(LearningRate(spec, 10, 100, 10), 0.05);
  EXPECT_DOUBLE_EQ(LearningRate(spec, 10, 100, 20), 0.1);
}

TEST(LearningRateTest, Step_FallsAtEachEpochNamed) {
  TrainingSpec spec = Spec(ScheduleType::kStep);
  spec.schedule.step_epochs = {3, 5};
  spec.schedule.step_factor = 0.1;
  EXPECT_DOUBLE_EQ(LearningRate(spec, 10, 100, 30), 0.1);
  EXPECT_DOUBLE_EQ(LearningRate(spec, 10, 100, 31), 0.01);
  EXPECT_DOUBLE_EQ(LearningRate(spec, 10, 100, 51), 0.001);
}

TEST(LearningRateTest, Cosine_FallsFromTheBaseThroughHalfToNearZero) {
  TrainingSpec spec = Spec(ScheduleType::kCosine);
  spec.schedule.warmup_epochs = 2;
  EXPECT_DOUBLE_EQ(LearningRate(spec, 10, 100, 21), 0.1);
  EXPECT_NEAR(LearningRate(spec, 10, 100, 61), 0.05, 1e-12);
  EXPECT_LT(LearningRate(spec, 10, 100, 100), 0.001);
}

TEST(LearningRateTest, Cosine_WarmupOfTheWholeRun_StaysFinite) {
  TrainingSpec spec = Spec(ScheduleType::kCosine);
  spec.schedule.warmup_epochs = 10;
  EXPECT_DOUBLE_EQ(LearningRate(spec, 10, 100, 100), 0.1);
}

}  // namespace
}  // namespace weft
