// Gamma against its oracles (section 4 of the design), on nodes with real registers: initiators drawn uniformly, one
// interaction at a time.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/agent/dataplane/swarm_testing.h"

namespace weft {
namespace {

std::vector<float> Noise(std::mt19937_64& random, std::size_t count, double variance_of_all) {
  std::normal_distribution<double> normal(0, std::sqrt(variance_of_all / static_cast<double>(count)));
  std::vector<float> noise(count);
  for (float& value : noise) value = static_cast<float>(normal(random));
  return noise;
}

struct Pair {
  int initiator = 0;
  int partner = 0;
};

// Uniform over the complete graph.
Pair Draw(std::mt19937_64& random, int nodes) {
  const int i = std::uniform_int_distribution<int>(0, nodes - 1)(random);
  const int j = std::uniform_int_distribution<int>(0, nodes - 2)(random);
  return {.initiator = i, .partner = j < i ? j : j + 1};
}

// One whole interaction of the sequential model: both sides have folded when it ends.
void Interact(SwarmNodes& nodes, const Pair& pair, const std::vector<float>& displacement) {
  ASSERT_EQ(nodes[pair.initiator].Interact(pair.partner), InteractionEnd::kAveraged);
  nodes[pair.partner].Fold();
  nodes.Publish(pair.partner);
  nodes.StepAndPublish(pair.initiator, displacement);
}

struct Estimate {
  double mean = 0;
  double standard_error = 0;
};

Estimate Of(const std::vector<double>& samples) {
  Estimate estimate;
  const auto n = static_cast<double>(samples.size());
  for (const double sample : samples) estimate.mean += sample / n;
  double squares = 0;
  for (const double sample : samples) squares += (sample - estimate.mean) * (sample - estimate.mean);
  estimate.standard_error = std::sqrt(squares / (n - 1) / n);
  return estimate;
}

class SwarmVarianceTest : public testing::TestWithParam<std::tuple<int, SwarmMedium>> {};

TEST_P(SwarmVarianceTest, Variance_OfZeroMeanNoise_IsTheOracles) {
  const auto [nodes, medium] = GetParam();
  constexpr double kVariance = 1.0;
  std::vector<double> samples;
  for (std::uint64_t run = 0; run < 48; ++run) {
    std::mt19937_64 random(1000 * run + static_cast<std::uint64_t>(nodes));
    SwarmNodes swarm({.nodes = nodes, .floats = 64, .medium = medium}, std::vector<float>(64, 0.25F));
    for (int t = 0; t < 12 * nodes; ++t) {
      Interact(swarm, Draw(random, nodes), Noise(random, 64, kVariance));
    }
    samples.push_back(swarm.Variance());
  }
  const Estimate measured = Of(samples);
  const double expected = kVariance * (nodes - 1) * (nodes - 1) / nodes;
  EXPECT_NEAR(measured.mean, expected, 3 * measured.standard_error);
  EXPECT_LT(measured.standard_error, 0.1 * expected);
}

TEST_P(SwarmVarianceTest, Variance_WithoutNoise_ContractsAsTheOracle) {
  const auto [nodes, medium] = GetParam();
  std::vector<double> samples;
  for (std::uint64_t run = 0; run < 200; ++run) {
    std::mt19937_64 random(77000 * run + static_cast<std::uint64_t>(nodes));
    SwarmNodes swarm({.nodes = nodes, .floats = 64, .medium = medium}, std::vector<float>(64, 0.25F));
    for (int i = 0; i < nodes; ++i) swarm.StepAndPublish(i, Noise(random, 64, 1));
    const double before = swarm.Variance();
    Interact(swarm, Draw(random, nodes), std::vector<float>(64, 0.0F));
    samples.push_back(swarm.Variance() / before);
  }
  const Estimate measured = Of(samples);
  if (nodes == 2) {
    EXPECT_LT(measured.mean, 1e-12);
  } else {
    EXPECT_NEAR(measured.mean, 1 - 1.0 / (nodes - 1), 3 * measured.standard_error);
  }
}

std::string CaseName(const testing::TestParamInfo<std::tuple<int, SwarmMedium>>& test) {
  std::string name = std::get<1>(test.param) == SwarmMedium::kService ? "Service" : "SharedMemory";
  name += std::to_string(std::get<0>(test.param));
  return name;
}

INSTANTIATE_TEST_SUITE_P(Nodes, SwarmVarianceTest,
                         testing::Combine(testing::Values(2, 4, 8, 16),
                                          testing::Values(SwarmMedium::kSharedMemory, SwarmMedium::kService)),
                         CaseName);

}  // namespace
}  // namespace weft
