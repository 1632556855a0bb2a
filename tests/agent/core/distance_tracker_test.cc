#include "agent/core/distance_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace weft {
namespace {

using testing::ElementsAre;

TEST(DistanceTrackerTest, BeforeTheFirstDistance_IsTheInitialOne) {
  const DistanceTracker tracker(2, 0.5F);
  EXPECT_THAT(tracker.y_max(), ElementsAre(0.5F, 0.5F));
}

TEST(DistanceTrackerTest, Distances_GiveEachBlockOneAndAHalfOfItsLargest) {
  DistanceTracker tracker(3, 1.0F);
  for (const float distance : {2.0F, 8.0F, 4.0F}) tracker.Add(1, distance);
  tracker.Add(2, 0.25F);
  EXPECT_THAT(tracker.y_max(), ElementsAre(1.0F, 12.0F, 0.375F));
}

TEST(DistanceTrackerTest, LargestDistance_IsForgottenAfter64Others) {
  DistanceTracker tracker(1, 1.0F);
  tracker.Add(0, 100.0F);
  for (int i = 0; i < 63; ++i) tracker.Add(0, 2.0F);
  EXPECT_THAT(tracker.y_max(), ElementsAre(150.0F));
  tracker.Add(0, 2.0F);
  EXPECT_THAT(tracker.y_max(), ElementsAre(3.0F));
}

TEST(DistanceTrackerTest, WhatIsNoDistance_IsNotTaken) {
  DistanceTracker tracker(1, 1.0F);
  tracker.Add(0, 2.0F);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -1.0F}) {
    tracker.Add(0, bad);
  }
  EXPECT_THAT(tracker.y_max(), ElementsAre(3.0F));
}

}  // namespace
}  // namespace weft
