#include "common/math/push_sum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

Topology Star(int leaves) {
  TopologySpec spec{.type = TopologyType::kEdgeList, .edges = {}};
  for (int leaf = 1; leaf <= leaves; ++leaf) spec.edges.emplace_back(0, leaf);
  return Topology::Make(spec, leaves + 1, /*seed=*/1).value();
}

TEST(PushSumTest, Star_ALeafsWeightHalvesUntilItsTurnComes) {
  // The last leaf's, before the hub's first push to it, and smaller still before the later ones.
  EXPECT_LE(SmallestPushWeightLog2(Star(40), 0), -39);
  EXPECT_GE(SmallestPushWeightLog2(Star(40), 0), -60);
  EXPECT_TRUE(CheckPushSum(Star(40), 0).ok());
  const Status refused = CheckPushSum(Star(126), 0);
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), testing::HasSubstr("below 2^-96"));
}

TEST(PushSumTest, Ring_StaysNearOne) {
  const Topology ring = Topology::Make({.type = TopologyType::kRing, .edges = {}}, 64, 1).value();
  EXPECT_GE(SmallestPushWeightLog2(ring, 0), -3);
}

TEST(PushSumTest, Overlap_DelaysTheFirstPush) {
  const Topology ring = Topology::Make({.type = TopologyType::kRing, .edges = {}}, 8, 1).value();
  EXPECT_LE(SmallestPushWeightLog2(ring, 20), -20);
  EXPECT_FALSE(CheckPushSum(ring, 100).ok());
}

// All others send to one node in each iteration, to the next one in the next.
TEST(PushSumTest, CompleteGraph_EachNodeWaitsForItsTurn) {
  const auto complete = [](int nodes) {
    return Topology::Make({.type = TopologyType::kComplete, .edges = {}}, nodes, 1).value();
  };
  EXPECT_TRUE(CheckPushSum(complete(32), 1).ok()) << SmallestPushWeightLog2(complete(32), 1);
  EXPECT_FALSE(CheckPushSum(complete(256), 1).ok()) << SmallestPushWeightLog2(complete(256), 1);
}

}  // namespace
}  // namespace weft
