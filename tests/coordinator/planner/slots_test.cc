#include "coordinator/planner/slots.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft {
namespace {

std::vector<double> Starts(int count) {
  std::vector<double> starts;
  for (int n = 0; n < count; ++n) starts.push_back(10000.0 * n);
  return starts;
}

// The paper's example: nine groups of 10 ms each, a period of 3, 4 workers.
TEST(WindowsAfterBackward, WorkedExample_IsExact) {
  const std::vector<double> forward(9, 5000);
  const std::vector<Window> windows = WindowsAfterBackward(Starts(9), forward, 90000, 3, 4, Tail::kHalf);
  ASSERT_EQ(windows.size(), 9u);
  for (std::size_t n = 0; n <= 6; ++n) EXPECT_EQ(windows[n].slot_us, 7500) << n;
  EXPECT_EQ(windows[7].slot_us, 3750);
  EXPECT_EQ(windows[8].slot_us, 0);
  EXPECT_EQ(windows[1].from_us, 20000);
  EXPECT_EQ(windows[1].to_us, 50000);
  EXPECT_EQ(windows[4].from_us, 50000);
  EXPECT_EQ(windows[4].to_us, 80000);
  EXPECT_EQ(windows[7].from_us, 80000);
  EXPECT_EQ(windows[7].to_us, 95000);
}

// Measured: group 7's window reaches over the forward of group 8, which comes first; group 6's over those of 7 and 8.
TEST(WindowsAfterBackward, MeasuredTail_IsTheForwardTimeOfTheGroupsBehind) {
  std::vector<double> forward(9, 0);
  forward[7] = 300;
  forward[8] = 4000;
  const std::vector<Window> windows = WindowsAfterBackward(Starts(9), forward, 90000, 3, 4, Tail::kMeasured);
  EXPECT_EQ(windows[8].to_us, 90000);
  EXPECT_EQ(windows[7].to_us, 94000);
  EXPECT_EQ(windows[6].to_us, 94300);
  EXPECT_EQ(windows[5].to_us, 90000);
}

TEST(WindowsAfterBackward, AnyShape_WindowsOfAPhaseTile) {
  for (int count = 1; count <= 12; ++count) {
    for (int period = 1; period <= 14; ++period) {
      const std::vector<double> forward(static_cast<std::size_t>(count), 1000);
      for (const Tail tail : {Tail::kHalf, Tail::kMeasured}) {
        const double end = 10000.0 * count;
        const std::vector<Window> windows = WindowsAfterBackward(Starts(count), forward, end, period, 3, tail);
        for (std::size_t n = 0; n < windows.size(); ++n) {
          EXPECT_GE(windows[n].to_us, windows[n].from_us);
          EXPECT_DOUBLE_EQ(windows[n].slot_us * 3, windows[n].to_us - windows[n].from_us);
          const std::size_t next = n + static_cast<std::size_t>(period);
          if (next < windows.size()) {
            EXPECT_EQ(windows[n].to_us, windows[next].from_us);
          }
        }
        EXPECT_EQ(windows.back().slot_us, 0);
      }
    }
  }
}

TEST(WindowsAfterBackward, OneGroupOneWorker_IsSentAtTheEnd) {
  const std::vector<double> starts = {0};
  const std::vector<double> forward = {7};
  const std::vector<Window> windows = WindowsAfterBackward(starts, forward, 50, 1, 1, Tail::kHalf);
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_EQ(windows[0].from_us, 50);
  EXPECT_EQ(windows[0].to_us, 50);
}

TEST(WindowsOverIteration, EachPhase_TilesTheIterationFromTheHighestIndexDown) {
  // Costs 1, 2, 3, 4, 5 at T = 2: phases {0, 2, 4} and {1, 3}.
  const std::vector<std::vector<ShardCost>> groups = {{{0, 1}}, {{0, 2}}, {{0, 3}}, {{0, 4}}, {{0, 5}}};
  const std::vector<Window> windows = WindowsOverIteration(groups, 2, 1, 2, -30, 90);
  EXPECT_DOUBLE_EQ(windows[4].from_us, -30);
  EXPECT_DOUBLE_EQ(windows[4].to_us, 20);
  EXPECT_DOUBLE_EQ(windows[2].from_us, 20);
  EXPECT_DOUBLE_EQ(windows[2].to_us, 50);
  EXPECT_DOUBLE_EQ(windows[0].from_us, 50);
  EXPECT_DOUBLE_EQ(windows[0].to_us, 60);
  EXPECT_DOUBLE_EQ(windows[3].from_us, -30);
  EXPECT_DOUBLE_EQ(windows[3].to_us, 30);
  EXPECT_DOUBLE_EQ(windows[1].to_us, 60);
  EXPECT_DOUBLE_EQ(windows[4].slot_us, 25);
}

TEST(WindowsOverIteration, UnevenCosts_LeaveNoGapToTheLastBit) {
  std::vector<std::vector<ShardCost>> groups;
  for (int n = 0; n < 101; ++n) groups.push_back({{0, 0.1 + n * 0.37}});
  const std::vector<Window> windows = WindowsOverIteration(groups, 3, 1, 4, -1.0 / 3, 7.7);
  for (std::size_t n = 0; n + 3 < groups.size(); ++n) EXPECT_EQ(windows[n].from_us, windows[n + 3].to_us);
  for (std::size_t n = 98; n < 101; ++n) EXPECT_EQ(windows[n].from_us, -1.0 / 3);
  for (std::size_t n = 0; n < 3; ++n) EXPECT_EQ(windows[n].to_us, -1.0 / 3 + 7.7);
}

TEST(WindowsOverIteration, TwoServers_EachTilesTheIteration) {
  const std::vector<std::vector<ShardCost>> groups = {{{0, 1}}, {{1, 1}}, {{0, 3}}, {{1, 1}}};
  const std::vector<Window> windows = WindowsOverIteration(groups, 1, 2, 1, 0, 8);
  EXPECT_EQ(windows[2].to_us, 6);
  EXPECT_EQ(windows[0].from_us, 6);
  EXPECT_EQ(windows[3].to_us, 4);
  EXPECT_EQ(windows[1].from_us, 4);
}

TEST(WindowsOverIteration, GroupsThatCostNothing_HaveTheWholeIteration) {
  const std::vector<std::vector<ShardCost>> groups = {{{0, 0}}};
  const std::vector<Window> windows = WindowsOverIteration(groups, 5, 1, 2, -2, 8);
  EXPECT_EQ(windows[0].from_us, -2);
  EXPECT_EQ(windows[0].to_us, 6);
}

}  // namespace
}  // namespace weft
