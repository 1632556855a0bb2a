#include "agent/train/layer_timer.h"

#include <gtest/gtest.h>

#include <chrono>

namespace weft {
namespace {

using std::chrono::microseconds;

// One iteration of two layers; layer l takes (1 + l) * scale forward and twice that backward, the local step 7.
void Iterate(LayerTimer& timer, ManualClock& clock, int scale) {
  timer.BeginIteration();
  for (int l = 0; l < 2; ++l) {
    ASSERT_TRUE(timer.BeforeForward(l).ok());
    clock.Advance(microseconds((1 + l) * scale));
    ASSERT_TRUE(timer.AfterForward(l).ok());
  }
  for (int l = 1; l >= 0; --l) {
    ASSERT_TRUE(timer.BeforeBackward(l).ok());
    clock.Advance(microseconds(2 * (1 + l) * scale));
    ASSERT_TRUE(timer.GradientReady(l).ok());
  }
  timer.EndBackward();
  clock.Advance(microseconds(7));
  timer.EndIteration();
}

TEST(LayerTimerTest, Median_LeavesOutWarmupAndOutliers) {
  ManualClock clock;
  const std::vector<Layer> layers = {{.name = "a", .first = 0, .count = 3, .parameters = {}},
                                     {.name = "b", .first = 3, .count = 5, .parameters = {}}};
  LayerTimer timer(layers, clock);
  for (const int scale : {1000, 10, 10, 500}) Iterate(timer, clock, scale);

  const Timeline timeline = timer.Median(1);
  ASSERT_EQ(timeline.layers.size(), 2u);
  EXPECT_EQ(timeline.layers[0].name, "a");
  EXPECT_EQ(timeline.layers[1].bytes, 20);
  EXPECT_DOUBLE_EQ(timeline.layers[0].forward_us, 10);
  EXPECT_DOUBLE_EQ(timeline.layers[1].forward_us, 20);
  EXPECT_DOUBLE_EQ(timeline.layers[1].backward_start_us, 0);
  EXPECT_DOUBLE_EQ(timeline.layers[0].backward_start_us, 40);
  EXPECT_DOUBLE_EQ(timeline.end_us, 60);
  EXPECT_DOUBLE_EQ(timeline.optimizer_us, 7);
  EXPECT_DOUBLE_EQ(timeline.compute_us(), 97);
  const std::vector<double> seconds = timer.IterationSeconds(1);
  ASSERT_EQ(seconds.size(), 3u);
  EXPECT_NEAR(seconds[0], 97e-6, 1e-12);
}

TEST(MedianTest, OddEvenAndNone) {
  EXPECT_EQ(Median({}), 0);
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 3}), 2.5);
}

}  // namespace
}  // namespace weft
