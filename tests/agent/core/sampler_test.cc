#include "agent/core/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

namespace weft {
namespace {

Topology Make(TopologyType type, int nodes) {
  return Topology::Make({.type = type, .degree = 0, .edges = {}}, nodes, 1).value();
}

double ChiSquare(const std::map<int, int>& counts, double expected) {
  double sum = 0;
  for (const auto& [value, count] : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

// 6 degrees of freedom: below 22.5 with probability 0.999, for each of 8 nodes.
TEST(DrawPartnerTest, Complete_ManyInteractions_AllOthersComeEquallyOften) {
  const Topology topology = Make(TopologyType::kComplete, 8);
  for (int node = 0; node < 8; ++node) {
    std::map<int, int> counts;
    for (std::uint64_t t = 0; t < 70'000; ++t) ++counts[DrawPartner(topology, 3, node, t)];
    EXPECT_EQ(counts.size(), 7);
    EXPECT_FALSE(counts.contains(node));
    EXPECT_LT(ChiSquare(counts, 10'000), 22.5) << "node " << node;
  }
}

// Pairs of consecutive draws: 9 cells, 8 degrees of freedom, below 26.1 with probability 0.999.
TEST(DrawPartnerTest, Hypercube_ConsecutiveInteractions_AreIndependent) {
  const Topology topology = Make(TopologyType::kHypercube, 8);
  std::map<int, int> counts;
  for (std::uint64_t t = 0; t < 90'000; ++t) {
    ++counts[8 * DrawPartner(topology, 5, 2, 2 * t) + DrawPartner(topology, 5, 2, 2 * t + 1)];
  }
  EXPECT_EQ(counts.size(), 9);
  EXPECT_LT(ChiSquare(counts, 10'000), 26.1);
}

// Nodes draw apart from each other: of 49 pairs of offsets each comes as often; 48 degrees of freedom, 84.0 at 0.999.
TEST(DrawPartnerTest, TwoNodes_SameInteraction_AreIndependent) {
  const Topology topology = Make(TopologyType::kComplete, 8);
  std::map<int, int> counts;
  for (std::uint64_t t = 0; t < 49'000; ++t) {
    ++counts[8 * DrawPartner(topology, 5, 0, t) + DrawPartner(topology, 5, 1, t)];
  }
  EXPECT_EQ(counts.size(), 49);
  EXPECT_LT(ChiSquare(counts, 1000), 84.0);
}

TEST(DrawPartnerTest, Ring_AnyInteraction_IsANeighbour) {
  const Topology topology = Make(TopologyType::kRing, 5);
  std::set<int> seen;
  for (std::uint64_t t = 0; t < 100; ++t) seen.insert(DrawPartner(topology, 1, 0, t));
  EXPECT_EQ(seen, (std::set<int>{1, 4}));
}

TEST(DrawPartnerTest, SameInputs_DrawTheSame_OtherSeedsDiffer) {
  const Topology topology = Make(TopologyType::kComplete, 64);
  int equal = 0;
  for (std::uint64_t t = 0; t < 6300; ++t) {
    EXPECT_EQ(DrawPartner(topology, 1, 7, t), DrawPartner(topology, 1, 7, t));
    equal += DrawPartner(topology, 1, 7, t) == DrawPartner(topology, 2, 7, t) ? 1 : 0;
  }
  EXPECT_NEAR(equal, 100, 50);  // five standard deviations
}

TEST(DrawLocalStepsTest, Constant_IsTheMean) {
  for (std::uint64_t t = 0; t < 100; ++t) EXPECT_EQ(DrawLocalSteps({.mean = 4, .geometric = false}, 1, 0, t), 4);
}

TEST(DrawLocalStepsTest, Geometric_MeanOne_IsOne) {
  for (std::uint64_t t = 0; t < 100; ++t) EXPECT_EQ(DrawLocalSteps({.mean = 1, .geometric = true}, 1, 0, t), 1);
}

// The mean to four standard errors (variance H^2 - H), and the shares of the first values.
TEST(DrawLocalStepsTest, Geometric_ManyDraws_HasItsMeanAndShares) {
  constexpr int kDraws = 200'000;
  for (const int mean : {2, 4, 10, 1000}) {
    double sum = 0;
    std::map<int, int> counts;
    for (std::uint64_t t = 0; t < kDraws; ++t) {
      const int steps = DrawLocalSteps({.mean = mean, .geometric = true}, 9, 3, t);
      ASSERT_GE(steps, 1);
      sum += steps;
      ++counts[steps];
    }
    EXPECT_NEAR(sum / kDraws, mean, 4 * std::sqrt((mean * mean - mean) / static_cast<double>(kDraws)));
    for (int h = 1; h <= 5; ++h) {
      const double share = std::pow(1 - 1.0 / mean, h - 1) / mean;
      EXPECT_NEAR(counts[h], kDraws * share, 5 * std::sqrt(kDraws * share)) << "H = " << mean << ", h = " << h;
    }
  }
}

// What a partner is says nothing of the steps: 3 partners by "1 or more steps", 2 degrees of freedom, 13.8 at 0.999.
TEST(DrawLocalStepsTest, Geometric_GivenThePartner_IsIndependent) {
  const Topology topology = Make(TopologyType::kComplete, 4);
  std::map<int, int> partners_of_one_step;
  int ones = 0;
  for (std::uint64_t t = 0; t < 60'000; ++t) {
    if (DrawLocalSteps({.mean = 2, .geometric = true}, 4, 1, t) != 1) continue;
    ++ones;
    ++partners_of_one_step[DrawPartner(topology, 4, 1, t)];
  }
  EXPECT_LT(ChiSquare(partners_of_one_step, ones / 3.0), 13.8);
}

}  // namespace
}  // namespace weft
