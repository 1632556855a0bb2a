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

// One interaction with its displacement. The partner folds only when its queue is half full, as the exchanger has it:
// until then what was appended waits, and readers see it there.
void Interact(SwarmNodes& nodes, const Pair& pair, const std::vector<float>& displacement) {
  ASSERT_EQ(nodes[pair.initiator].Interact(pair.partner), InteractionEnd::kAveraged);
  nodes.StepAndPublish(pair.initiator, displacement);
  if (nodes[pair.partner].waiting() < kSwarmCells / 2) return;
  nodes[pair.partner].Fold();
  nodes.Publish(pair.partner);
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
    SwarmNodes swarm({.nodes = nodes, .medium = medium}, std::vector<float>(64, 0.25F));
    for (int t = 0; t < 12 * nodes; ++t) {
      Interact(swarm, Draw(random, nodes), Noise(random, 64, kVariance));
    }
    samples.push_back(swarm.SettledVariance());
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
    SwarmNodes swarm({.nodes = nodes, .medium = medium}, std::vector<float>(64, 0.25F));
    for (int i = 0; i < nodes; ++i) swarm.StepAndPublish(i, Noise(random, 64, 1));
    const double before = swarm.Variance();
    Interact(swarm, Draw(random, nodes), std::vector<float>(64, 0.0F));
    samples.push_back(swarm.SettledVariance() / before);
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

// The floor: no noise but the code's own. Everything is in units of s = 2 y_max / (q - 1), which follows the distances,
// so that they shrink together until they reach the smallest scale that float32 carries, 2^-20 of the largest weight.
TEST(SwarmVarianceFloorTest, Quantization_WithoutNoise_LetsVarianceFallToItsFloor) {
  constexpr std::size_t kFloats = 512;
  for (const int bits : {4, 8}) {
    std::mt19937_64 random(5);
    SwarmNodes swarm({.nodes = 8, .quantizer = {.bits = bits, .rotation = false, .seed = 3}},
                     std::vector<float>(kFloats, 1.0F));
    for (int i = 0; i < 8; ++i) swarm.StepAndPublish(i, Noise(random, kFloats, 1));
    const double before = swarm.Variance();
    for (int t = 0; t < 4000; ++t) Interact(swarm, Draw(random, 8), std::vector<float>(kFloats, 0.0F));
    const double after = swarm.SettledVariance();
    EXPECT_LT(after, 1e-7 * before) << bits;
  }
}

// With noise, its Gamma is a multiple of the oracle's (docs/design/swarm.md has the measured ones).
TEST(SwarmVarianceFloorTest, Quantization_WithNoise_AddsWhatItsBitsSay) {
  constexpr std::size_t kFloats = 512;
  const std::vector<std::pair<int, double>> largest_of_bits = {{0, 1.1}, {2, 3.5}, {3, 3},
                                                               {4, 1.3}, {8, 1.1}, {16, 1.1}};
  for (const auto& [bits, largest] : largest_of_bits) {
    std::vector<double> samples;
    for (std::uint64_t run = 0; run < 8; ++run) {
      std::mt19937_64 random(run);
      SwarmNodes swarm({.nodes = 8, .quantizer = {.bits = bits, .rotation = false, .seed = 3}},
                       std::vector<float>(kFloats, 1.0F));
      for (int t = 0; t < 300; ++t) Interact(swarm, Draw(random, 8), Noise(random, kFloats, 1));
      samples.push_back(swarm.SettledVariance());
    }
    EXPECT_LT(Of(samples).mean / (49.0 / 8), largest) << bits << " bits";
    EXPECT_GT(Of(samples).mean / (49.0 / 8), 0.85) << bits << " bits";
  }
}

// One of 8 nodes ends a round when the others have ended 20. Whoever reads it sees the deltas that wait there.
double SlowNodeVariance(bool read_pending, bool fold_between, int rounds) {
  std::mt19937_64 random(9);
  SwarmNodes swarm({.nodes = 8, .read_pending = read_pending}, std::vector<float>(64, 0.0F));
  std::vector<double> samples;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 8; ++i) {
      if (i == 0 && round % 20 != 0) continue;
      int partner = std::uniform_int_distribution<int>(0, 6)(random);
      if (partner >= i) ++partner;
      swarm[i].Interact(partner);
      swarm[i].Fold();
      swarm.StepAndPublish(i, Noise(random, 64, 1));
    }
    if (fold_between && swarm[0].waiting() >= kSwarmCells / 2) {
      swarm[0].Fold();
      swarm.Publish(0);
    }
  }
  return swarm.SettledVariance();
}

TEST(SwarmSlowNodeTest, Variance_WithOneNode20TimesSlower_DoesNotGrow) {
  const double oracle = 49.0 / 8;
  for (const bool fold_between : {false, true}) {
    for (const int rounds : {50, 200, 800}) {
      EXPECT_LT(SlowNodeVariance(true, fold_between, rounds), 3 * oracle) << fold_between << ", " << rounds;
    }
  }
}

// The same with readers that see the slow node's model only, as it was published. That its queue holds eight and no
// more makes it grow to 10^5 in 800 rounds, and not to infinity.
TEST(SwarmSlowNodeTest, Variance_WithoutReadingWhatWaits_Explodes) {
  EXPECT_GT(SlowNodeVariance(false, false, 800), 1e4 * (49.0 / 8));
}

}  // namespace
}  // namespace weft
