#include "common/math/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numbers>
#include <set>

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Result<Topology> Make(TopologyType type, int nodes, int degree = 0, std::uint64_t seed = 1) {
  return Topology::Make({.type = type, .degree = degree, .edges = {}}, nodes, seed);
}

Result<Topology> FromEdges(int nodes, std::vector<std::pair<int, int>> edges) {
  return Topology::Make({.type = TopologyType::kEdgeList, .degree = 0, .edges = std::move(edges)}, nodes, 1);
}

std::vector<int> NeighboursOf(const Topology& topology, int node) {
  const auto span = topology.neighbours(node);
  return {span.begin(), span.end()};
}

// What every topology promises: symmetric, sorted, no loop, no double edge, and one component, which lambda2 > 0 says.
void ExpectSound(const Topology& topology) {
  std::size_t ends = 0;
  for (int node = 0; node < topology.nodes(); ++node) {
    const std::vector<int> neighbours = NeighboursOf(topology, node);
    ends += neighbours.size();
    for (std::size_t i = 0; i < neighbours.size(); ++i) {
      EXPECT_NE(neighbours[i], node);
      if (i > 0) {
        EXPECT_LT(neighbours[i - 1], neighbours[i]);
      }
      const std::vector<int> back = NeighboursOf(topology, neighbours[i]);
      EXPECT_TRUE(std::find(back.begin(), back.end(), node) != back.end());
    }
  }
  EXPECT_EQ(topology.edges().size() * 2, ends);
  if (topology.nodes() > 1) {
    EXPECT_GT(FactsOf(topology).lambda2, 1e-6);
  }
}

TEST(TopologyTest, Complete_AnyNodes_Lambda2IsNodes) {
  for (const int n : {2, 3, 4, 5, 8, 16, 33, 64, 100}) {
    const auto topology = Make(TopologyType::kComplete, n);
    ASSERT_TRUE(topology.ok());
    const TopologyFacts facts = FactsOf(*topology);
    EXPECT_NEAR(facts.lambda2, n, 1e-9);
    EXPECT_EQ(facts.min_degree, n - 1);
    EXPECT_EQ(facts.max_degree, n - 1);
    EXPECT_EQ(facts.edges, n * (n - 1) / 2);
    ExpectSound(*topology);
  }
}

TEST(TopologyTest, Complete_OneNode_HasNoNeighbours) {
  const auto topology = Make(TopologyType::kComplete, 1);
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->degree(0), 0);
  EXPECT_EQ(FactsOf(*topology).lambda2, 0);
  EXPECT_THAT(MetropolisWeights(*topology, 0), ElementsAre(1.0));
}

TEST(TopologyTest, Ring_AnyNodes_Lambda2IsItsClosedForm) {
  for (const int n : {3, 4, 5, 6, 7, 8, 12, 16, 31, 64, 129}) {
    const auto topology = Make(TopologyType::kRing, n);
    ASSERT_TRUE(topology.ok());
    EXPECT_NEAR(FactsOf(*topology).lambda2, 2 - 2 * std::cos(2 * std::numbers::pi / n), 1e-9) << n;
    EXPECT_EQ(FactsOf(*topology).edges, n);
    ExpectSound(*topology);
  }
}

TEST(TopologyTest, Ring_TwoNodes_IsOneEdge) {
  const auto topology = Make(TopologyType::kRing, 2);
  ASSERT_TRUE(topology.ok());
  EXPECT_THAT(topology->edges(), ElementsAre(Pair(0, 1)));
  EXPECT_NEAR(FactsOf(*topology).lambda2, 2, 1e-12);
}

TEST(TopologyTest, Torus_AnyNodes_Lambda2IsThatOfItsLongerRing) {
  const std::map<int, int> longer_side = {{9, 3},  {12, 4}, {15, 5}, {16, 4}, {20, 5},   {24, 6},
                                          {25, 5}, {36, 6}, {64, 8}, {72, 9}, {144, 12}, {21, 7}};
  for (const auto& [n, side] : longer_side) {
    const auto topology = Make(TopologyType::kTorus, n);
    ASSERT_TRUE(topology.ok()) << n;
    const TopologyFacts facts = FactsOf(*topology);
    EXPECT_NEAR(facts.lambda2, 2 - 2 * std::cos(2 * std::numbers::pi / side), 1e-9) << n;
    EXPECT_EQ(facts.min_degree, 4);
    EXPECT_EQ(facts.max_degree, 4);
    ExpectSound(*topology);
  }
}

TEST(TopologyTest, Hypercube_PowersOfTwo_Lambda2IsTwo) {
  for (int dimension = 1; dimension <= 8; ++dimension) {
    const auto topology = Make(TopologyType::kHypercube, 1 << dimension);
    ASSERT_TRUE(topology.ok());
    EXPECT_NEAR(FactsOf(*topology).lambda2, 2, 1e-9);
    EXPECT_EQ(FactsOf(*topology).max_degree, dimension);
    ExpectSound(*topology);
  }
}

TEST(TopologyTest, RandomRegular_AllDegrees_IsRegularAndConnected) {
  for (const int n : {2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17}) {
    for (int degree = 1; degree < n; ++degree) {
      if (n * degree % 2 != 0 || (degree == 1 && n > 2)) continue;
      for (const std::uint64_t seed : {1, 2, 3}) {
        const auto topology = Make(TopologyType::kRandomRegular, n, degree, seed);
        ASSERT_TRUE(topology.ok()) << topology.status();
        EXPECT_EQ(FactsOf(*topology).min_degree, degree);
        EXPECT_EQ(FactsOf(*topology).max_degree, degree);
        ExpectSound(*topology);
      }
    }
  }
}

TEST(TopologyTest, RandomRegular_ManyNodes_IsFoundAtEveryDensity) {
  for (const auto& [nodes, degree] : {std::pair(1024, 2),
                                      {1024, 3},
                                      {1024, 8},
                                      {200, 60},
                                      {200, 99},
                                      {200, 100},
                                      {200, 150},
                                      {200, 197},
                                      {200, 199}}) {
    const auto topology = Make(TopologyType::kRandomRegular, nodes, degree);
    ASSERT_TRUE(topology.ok());
    for (int node = 0; node < nodes; ++node) ASSERT_EQ(topology->degree(node), degree);
  }
}

TEST(TopologyTest, RandomRegular_SameSeed_IsTheSameGraph) {
  const auto one = Make(TopologyType::kRandomRegular, 16, 4, 7);
  const auto again = Make(TopologyType::kRandomRegular, 16, 4, 7);
  const auto other = Make(TopologyType::kRandomRegular, 16, 4, 8);
  ASSERT_TRUE(one.ok() && again.ok() && other.ok());
  EXPECT_EQ(one->edges(), again->edges());
  EXPECT_NE(one->edges(), other->edges());
}

// The 60 labelled hexagons: chi-square at 59 degrees of freedom stays below 98.3 with probability 0.999.
TEST(TopologyTest, RandomRegular_ManySeeds_GraphsComeEquallyOften) {
  std::map<std::vector<std::pair<int, int>>, int> counts;
  constexpr int kDraws = 60 * 200;
  for (int seed = 0; seed < kDraws; ++seed) {
    ++counts[Make(TopologyType::kRandomRegular, 6, 2, static_cast<std::uint64_t>(seed))->edges()];
  }
  ASSERT_EQ(counts.size(), 60);
  double chi_square = 0;
  for (const auto& [edges, count] : counts) chi_square += (count - 200.0) * (count - 200.0) / 200;
  EXPECT_LT(chi_square, 98.3);
}

TEST(TopologyTest, RandomRegular_AmongManyNodes_ExpandsAsRandomGraphsDo) {
  // Friedman 2008: lambda2 of a random d-regular graph is near d - 2 sqrt(d - 1).
  const auto topology = Make(TopologyType::kRandomRegular, 256, 8);
  ASSERT_TRUE(topology.ok());
  EXPECT_NEAR(FactsOf(*topology).lambda2, 8 - 2 * std::sqrt(7.0), 0.3);
}

// a = 4, h = 2: the balanced dragonfly of the paper's figure 5, 9 groups of 4.
TEST(TopologyTest, Dragonfly_36Nodes_IsThePapersBalancedOne) {
  const auto topology = Make(TopologyType::kDragonfly, 36);
  ASSERT_TRUE(topology.ok());
  ExpectSound(*topology);
  EXPECT_EQ(FactsOf(*topology).min_degree, 3 + 2);
  EXPECT_EQ(FactsOf(*topology).max_degree, 3 + 2);
  std::map<std::pair<int, int>, int> links;
  for (const auto& [a, b] : topology->edges()) ++links[{a / 4, b / 4}];
  EXPECT_EQ(links.size(), 9 + 9 * 8 / 2);
  for (const auto& [groups, count] : links) EXPECT_EQ(count, groups.first == groups.second ? 6 : 1);
}

TEST(TopologyTest, Dragonfly_EveryAllowedNumber_IsRegular) {
  int allowed = 0;
  for (int n = 1; n <= 150; ++n) {
    const auto topology = Make(TopologyType::kDragonfly, n);
    if (!topology.ok()) continue;
    ++allowed;
    ExpectSound(*topology);
    EXPECT_EQ(FactsOf(*topology).min_degree, FactsOf(*topology).max_degree) << n;
  }
  EXPECT_GT(allowed, 30);
}

TEST(TopologyTest, EdgeList_AStar_IsAsGiven) {
  const auto topology = FromEdges(4, {{2, 0}, {1, 0}, {0, 3}});
  ASSERT_TRUE(topology.ok());
  EXPECT_THAT(topology->edges(), ElementsAre(Pair(0, 1), Pair(0, 2), Pair(0, 3)));
  const TopologyFacts facts = FactsOf(*topology);
  EXPECT_NEAR(facts.lambda2, 1, 1e-12);
  EXPECT_EQ(facts.min_degree, 1);
  EXPECT_EQ(facts.max_degree, 3);
}

TEST(TopologyTest, Make_WhatCannotBe_NamesTheRule) {
  const auto message = [](const Result<Topology>& topology) {
    EXPECT_EQ(topology.status().code(), StatusCode::kInvalidArgument);
    return topology.status().message();
  };
  EXPECT_EQ(message(Make(TopologyType::kRing, 1)), "topology.type: Ring needs 2 nodes or more, not 1");
  EXPECT_EQ(message(Make(TopologyType::kTorus, 8)),
            "topology.type: Torus needs a x b nodes with a and b 3 or more, not 8");
  EXPECT_EQ(message(Make(TopologyType::kTorus, 13)),
            "topology.type: Torus needs a x b nodes with a and b 3 or more, not 13");
  EXPECT_EQ(message(Make(TopologyType::kHypercube, 3)), "topology.type: Hypercube needs a power of two nodes, not 3");
  EXPECT_EQ(message(Make(TopologyType::kHypercube, 1)),
            "topology.type: Hypercube needs a power of two nodes, 2 or more, not 1");
  EXPECT_EQ(message(Make(TopologyType::kRandomRegular, 5, 3)),
            "topology.degree: 3 times 5 nodes is odd, but each edge has two ends");
  EXPECT_EQ(message(Make(TopologyType::kRandomRegular, 4, 4)),
            "topology.degree: 4 is not below the number of nodes, 4");
  EXPECT_EQ(message(Make(TopologyType::kRandomRegular, 4, 0)), "topology.degree: 0 is below 1");
  EXPECT_EQ(message(Make(TopologyType::kRandomRegular, 4, 1)),
            "topology.degree: 1 makes pairs that nothing joins; 4 nodes need 2 or more");
  EXPECT_EQ(
      message(Make(TopologyType::kDragonfly, 8)),
      "topology.type: Dragonfly needs a(ah + 1) nodes with a 2 or more and h 1 or more, not 8; 6 and 10 would do");
  EXPECT_THAT(message(Make(TopologyType::kDragonfly, 1)), HasSubstr("not 1; 6 is the fewest"));
  EXPECT_EQ(message(FromEdges(3, {{0, 3}})), "topology.edges: 0-3 names a node that is not in 0 .. 2");
  EXPECT_EQ(message(FromEdges(3, {{0, -1}})), "topology.edges: 0--1 names a node that is not in 0 .. 2");
  EXPECT_EQ(message(FromEdges(3, {{0, 1}, {2, 2}})), "topology.edges: 2-2 joins a node with itself");
  EXPECT_EQ(message(FromEdges(3, {{0, 1}, {1, 2}, {1, 0}})), "topology.edges: 1-0 stands there twice");
  EXPECT_EQ(message(FromEdges(4, {{2, 3}, {0, 1}})), "topology.edges: the graph falls apart into {0, 1} and {2, 3}");
  EXPECT_EQ(message(FromEdges(3, {})), "topology.edges: the graph falls apart into {0}, {1} and {2}");
  EXPECT_EQ(message(FromEdges(1, {})), "topology.type: EdgeList needs 2 nodes or more, not 1");
  EXPECT_EQ(message(Make(TopologyType::kComplete, 0)), "topology: 0 nodes are not 1 to 1024");
  EXPECT_EQ(message(Make(TopologyType::kComplete, 1025)), "topology: 1025 nodes are not 1 to 1024");
}

TEST(TopologyTest, EdgeList_ManyComponents_ListsTheFirst) {
  const auto topology = FromEdges(100, {{98, 99}});
  EXPECT_THAT(topology.status().message(), HasSubstr("{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7} and 91 more"));
}

TEST(MetropolisWeightsTest, AnyTopology_RowsAndColumnsSumToOne) {
  for (const auto& made : {Make(TopologyType::kComplete, 5), Make(TopologyType::kRing, 8),
                           FromEdges(6, {{0, 1}, {0, 2}, {0, 3}, {3, 4}, {4, 5}})}) {
    ASSERT_TRUE(made.ok());
    const int n = made->nodes();
    std::vector<double> columns(static_cast<std::size_t>(n), 0.0);
    for (int node = 0; node < n; ++node) {
      const std::vector<double> row = MetropolisWeights(*made, node);
      const std::vector<int> neighbours = NeighboursOf(*made, node);
      ASSERT_EQ(row.size(), neighbours.size() + 1);
      double sum = row.back();
      EXPECT_GT(row.back(), 0);
      columns[static_cast<std::size_t>(node)] += row.back();
      for (std::size_t i = 0; i < neighbours.size(); ++i) {
        sum += row[i];
        columns[static_cast<std::size_t>(neighbours[i])] += row[i];
      }
      EXPECT_NEAR(sum, 1, 1e-15);
    }
    for (const double column : columns) EXPECT_NEAR(column, 1, 1e-15);
  }
}

TEST(MetropolisWeightsTest, Complete_AllAreEqual) {
  const auto topology = Make(TopologyType::kComplete, 7);
  for (const double weight : MetropolisWeights(*topology, 3)) EXPECT_NEAR(weight, 1.0 / 7, 1e-15);
}

TEST(MetropolisWeightsTest, Star_WeightsFollowTheLargerDegree) {
  const auto topology = FromEdges(4, {{0, 1}, {0, 2}, {0, 3}});
  EXPECT_THAT(MetropolisWeights(*topology, 1), ElementsAre(0.25, 0.75));
  EXPECT_THAT(MetropolisWeights(*topology, 0), ElementsAre(0.25, 0.25, 0.25, 0.25));
}

}  // namespace
}  // namespace weft
