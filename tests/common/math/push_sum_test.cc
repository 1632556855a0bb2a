#include "common/math/push_sum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

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

Topology Complete(int nodes) {
  return Topology::Make({.type = TopologyType::kComplete, .edges = {}}, nodes, 1).value();
}

// With the iteration alone nearly all would send to the same node: a hot spot, and the others' weights would go down.
TEST(PushSumTest, CompleteGraphAndRing_EachIterationIsAPermutation) {
  for (const int nodes : {2, 3, 8, 33}) {
    for (const TopologyType type : {TopologyType::kComplete, TopologyType::kRing}) {
      const Topology graph = Topology::Make({.type = type, .edges = {}}, nodes, 1).value();
      for (std::int64_t t = 1; t <= 2 * nodes; ++t) {
        std::set<int> receivers;
        for (int node = 0; node < nodes; ++node) receivers.insert(PushReceiver(graph, node, t));
        EXPECT_EQ(receivers.size(), static_cast<std::size_t>(nodes)) << nodes << " nodes, iteration " << t;
      }
    }
  }
}

TEST(PushSumTest, CompleteGraph_WeightsStayNearOneHoweverLarge) {
  for (const int nodes : {2, 32, 256, kMaxTopologyNodes}) {
    EXPECT_GE(SmallestPushWeightLog2(Complete(nodes), /*overlap=*/0), -1) << nodes;
    EXPECT_GE(SmallestPushWeightLog2(Complete(nodes), /*overlap=*/1), -3) << nodes;
    EXPECT_TRUE(CheckPushSum(Complete(nodes), 1).ok()) << nodes;
  }
}

// Each node sends to each of its neighbours in turn, so that the graph's connections all carry something.
TEST(PushSumTest, Receivers_GoRoundAllNeighbours) {
  const Topology torus = Topology::Make({.type = TopologyType::kTorus, .edges = {}}, 12, 1).value();
  for (int node = 0; node < torus.nodes(); ++node) {
    std::vector<int> receivers;
    for (int t = 0; t < torus.degree(node); ++t) receivers.push_back(PushReceiver(torus, node, t));
    EXPECT_THAT(receivers, testing::UnorderedElementsAreArray(torus.neighbours(node)));
  }
}

TEST(PushSumTest, RegularGraphs_HearOftenEnough) {
  for (const TopologyType type : {TopologyType::kHypercube, TopologyType::kTorus, TopologyType::kRandomRegular}) {
    const Topology graph = Topology::Make({.type = type, .degree = 6, .edges = {}}, 64, 1).value();
    EXPECT_GE(SmallestPushWeightLog2(graph, /*overlap=*/1), -20) << static_cast<int>(type);
  }
}

}  // namespace
}  // namespace weft
