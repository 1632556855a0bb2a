#include "coordinator/service/divergence.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(DivergenceTest, EveryWorkersLossStaysNotFinite_HasDivergedAndTellsTheFirst) {
  Divergence divergence(2);
  for (int iteration = 1; iteration <= 30; ++iteration) {
    divergence.Add(0, iteration, iteration < 8);
    divergence.Add(1, iteration, iteration < 7);
    EXPECT_EQ(divergence.diverged(), iteration >= 7 + Divergence::kBatches) << iteration;
  }
  ASSERT_TRUE(divergence.first().has_value());
  EXPECT_EQ(divergence.first()->worker, 1);
  EXPECT_EQ(divergence.first()->iteration, 7);
}

TEST(DivergenceTest, OneWorkersLossIsFinite_HasNot) {
  Divergence divergence(2);
  for (int iteration = 1; iteration <= 30; ++iteration) {
    divergence.Add(0, iteration, true);
    divergence.Add(1, iteration, false);
  }
  EXPECT_FALSE(divergence.diverged());
  EXPECT_EQ(divergence.first()->worker, 1);
}

TEST(DivergenceTest, WorkerThatHasNotReported_HasNot) {
  Divergence divergence(2);
  for (int iteration = 1; iteration <= 30; ++iteration) divergence.Add(0, iteration, false);
  EXPECT_FALSE(divergence.diverged());
}

TEST(DivergenceTest, LossIsFiniteAgainAndAgain_HasNot) {
  Divergence divergence(1);
  for (int iteration = 1; iteration <= 30; ++iteration) divergence.Add(0, iteration, iteration % 5 == 0);
  EXPECT_FALSE(divergence.diverged());
  EXPECT_EQ(divergence.first()->iteration, 1);
}

}  // namespace
}  // namespace weft
