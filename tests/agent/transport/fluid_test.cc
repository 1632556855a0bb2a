#include "agent/transport/fluid.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace weft {
namespace {

constexpr double kRate = 125e6;  // 1 Gb/s

TimePoint At(double seconds) { return TimePoint(FromSeconds(seconds)); }

// Moves to the next end and returns when that was and which flow.
struct End {
  double seconds = 0;
  std::int64_t id = 0;
};
End NextEnd(FluidNetwork& network) {
  const TimePoint time = network.NextEnd().value();
  network.AdvanceTo(time);
  return {ToSeconds(time.time_since_epoch()), network.TakeEnded().value()};
}

LinkModel Limited(double egress, double ingress) {
  return {.egress_bytes_per_second = egress, .ingress_bytes_per_second = ingress};
}

TEST(FluidNetwork, OneFlow_TakesBytesOverRate) {
  FluidNetwork network({Limited(kRate, kRate), Limited(kRate, kRate)}, At(0));
  network.Start({.id = 7, .from = 0, .to = 1, .bytes = 12'500'000}, At(0.5));
  const End end = NextEnd(network);
  EXPECT_EQ(end.id, 7);
  EXPECT_NEAR(end.seconds, 0.6, 1e-8);
}

TEST(FluidNetwork, TheTighterEnd_SetsTheRate) {
  FluidNetwork network({Limited(kRate, 0), Limited(0, kRate / 4)}, At(0));
  network.Start({.id = 1, .from = 0, .to = 1, .bytes = 12'500'000}, At(0));
  EXPECT_NEAR(NextEnd(network).seconds, 0.4, 1e-8);
}

TEST(FluidNetwork, TwoFlowsIntoOneRank_ShareItAndSpeedUpWhenOneEnds) {
  FluidNetwork network(std::vector<LinkModel>(3, Limited(kRate, kRate)), At(0));
  network.Start({.id = 1, .from = 0, .to = 2, .bytes = 12'500'000}, At(0));
  network.Start({.id = 2, .from = 1, .to = 2, .bytes = 25'000'000}, At(0));
  const End first = NextEnd(network);
  EXPECT_EQ(first.id, 1);
  EXPECT_NEAR(first.seconds, 0.2, 1e-8);
  EXPECT_NEAR(NextEnd(network).seconds, 0.3, 1e-8);
}

TEST(FluidNetwork, BothDirections_DoNotTouchEachOther) {
  FluidNetwork network(std::vector<LinkModel>(2, Limited(kRate, kRate)), At(0));
  network.Start({.id = 1, .from = 0, .to = 1, .bytes = 12'500'000}, At(0));
  network.Start({.id = 2, .from = 1, .to = 0, .bytes = 12'500'000}, At(0));
  EXPECT_NEAR(NextEnd(network).seconds, 0.1, 1e-8);
  EXPECT_NEAR(NextEnd(network).seconds, 0.1, 1e-8);
}

// 0 and 1 send into 2; 0 also sends into 3, whose link is slow. Max-min: the slow flow gets 10 MB/s, and what it leaves
// of rank 0's egress does not limit the other, which shares rank 2's ingress evenly with rank 1's.
TEST(FluidNetwork, UnequalLinks_RatesAreMaxMinFair) {
  FluidNetwork network({Limited(100e6, 0), Limited(100e6, 0), Limited(0, 100e6), Limited(0, 10e6)}, At(0));
  network.Start({.id = 1, .from = 0, .to = 3, .bytes = 10'000'000}, At(0));
  network.Start({.id = 2, .from = 0, .to = 2, .bytes = 25'000'000}, At(0));
  network.Start({.id = 3, .from = 1, .to = 2, .bytes = 100'000'000}, At(0));
  const End second = NextEnd(network);
  EXPECT_EQ(second.id, 2);
  EXPECT_NEAR(second.seconds, 0.5, 1e-8);
  const End first = NextEnd(network);
  EXPECT_EQ(first.id, 1);
  EXPECT_NEAR(first.seconds, 1.0, 1e-8);
  EXPECT_NEAR(NextEnd(network).seconds, 0.5 + 0.75, 1e-8);
}

TEST(FluidNetwork, UnlimitedEmptyAndToItself_TakeNoTime) {
  FluidNetwork network({Limited(kRate, kRate), {}, {}}, At(0));
  network.Start({.id = 1, .from = 1, .to = 2, .bytes = 1'000'000'000}, At(1));
  network.Start({.id = 2, .from = 0, .to = 1, .bytes = 0}, At(1));
  network.Start({.id = 3, .from = 0, .to = 0, .bytes = 1'000'000}, At(1));
  for (const std::int64_t id : {1, 2, 3}) {
    const End end = NextEnd(network);
    EXPECT_EQ(end.id, id);
    EXPECT_EQ(end.seconds, 1);
  }
}

TEST(FluidNetwork, RemovedFlow_LeavesItsShareToTheOthers) {
  FluidNetwork network(std::vector<LinkModel>(3, Limited(kRate, kRate)), At(0));
  network.Start({.id = 1, .from = 0, .to = 2, .bytes = 12'500'000}, At(0));
  network.Start({.id = 2, .from = 1, .to = 2, .bytes = 12'500'000}, At(0));
  network.Remove(1, At(0.1));
  const End end = NextEnd(network);
  EXPECT_EQ(end.id, 2);
  EXPECT_NEAR(end.seconds, 0.15, 1e-8);
  EXPECT_FALSE(network.NextEnd().has_value());
}

TEST(FluidNetwork, Statistics_CountTrafficConcurrencyAndPeak) {
  FluidNetwork network(std::vector<LinkModel>(3, Limited(kRate, kRate)), At(0));
  network.Start({.id = 1, .from = 0, .to = 2, .kind = 1, .bytes = 12'500'000}, At(0));
  network.Start({.id = 2, .from = 1, .to = 2, .kind = 2, .bytes = 25'000'000}, At(0.05));
  // 0.05 s alone, 0.1 s shared, then 0.15 s alone.
  NextEnd(network);
  NextEnd(network);
  network.AdvanceTo(At(0.5));
  const RankStatistics server = network.Statistics(2);
  EXPECT_NEAR(server.elapsed_seconds, 0.5, 1e-9);
  EXPECT_EQ(server.ingress.messages, 2);
  EXPECT_EQ(server.ingress.bytes, 37'500'000);
  EXPECT_EQ(server.ingress.by_kind[1].bytes, 12'500'000);
  EXPECT_EQ(server.ingress.by_kind[2].messages, 1);
  EXPECT_NEAR(server.ingress.busy_seconds, 0.3, 1e-8);
  EXPECT_NEAR(server.ingress.concurrent_seconds, 0.1, 1e-8);
  EXPECT_NEAR(server.ingress.peak_bytes_per_second, kRate, 1);
  EXPECT_EQ(server.egress.messages, 0);
  EXPECT_EQ(server.egress.busy_seconds, 0);
  EXPECT_EQ(network.Statistics(1).egress.bytes, 25'000'000);
}

TEST(FluidNetwork, Peak_IsOfTheFullestWindow) {
  FluidNetwork network(std::vector<LinkModel>(2, Limited(kRate, kRate)), At(0));
  // A quarter of a window, then half of one.
  network.Start({.id = 1, .from = 0, .to = 1, .bytes = 312'500}, At(0.001));
  NextEnd(network);
  network.Start({.id = 2, .from = 0, .to = 1, .bytes = 625'000}, At(0.022));
  NextEnd(network);
  network.AdvanceTo(At(0.1));
  EXPECT_NEAR(network.Statistics(1).ingress.peak_bytes_per_second, kRate / 2, 100);
  network.ResetStatistics();
  network.AdvanceTo(At(0.2));
  EXPECT_EQ(network.Statistics(1).ingress.peak_bytes_per_second, 0);
  EXPECT_EQ(network.Statistics(1).ingress.bytes, 0);
}

}  // namespace
}  // namespace weft
