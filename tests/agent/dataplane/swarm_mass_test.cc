// What i loses j gains, and nothing else, whoever writes at the same time.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/agent/dataplane/swarm_testing.h"

namespace weft {
namespace {

struct Case {
  SwarmMedium medium = SwarmMedium::kSharedMemory;
  int bits = 0;
  std::size_t floats = 1;
};

// All others write to node 0 and to each other without a pause, and all publish. `displacement` draws one step.
template <typename Displacement>
void Hammer(SwarmNodes& swarm, int rounds, const Displacement& displacement) {
  std::vector<std::thread> threads;
  std::atomic<int> writing = swarm.size();
  for (int i = 0; i < swarm.size(); ++i) {
    threads.emplace_back([&swarm, &displacement, &writing, rounds, i] {
      std::mt19937_64 random(static_cast<std::uint64_t>(i));
      for (int round = 0; round < rounds; ++round) {
        const bool at_one = i != 0 && round % 4 != 0;
        int partner = at_one ? 0 : std::uniform_int_distribution<int>(0, swarm.size() - 2)(random);
        if (!at_one && partner >= i) ++partner;
        swarm[i].Interact(partner);
        swarm[i].Fold();
        swarm[i].AddDisplacement(displacement(i, round));
        swarm.Publish(i);
        std::this_thread::yield();
      }
      // As others still write, their deltas are still taken.
      --writing;
      while (writing > 0) {
        if (swarm[i].Fold() > 0) swarm.Publish(i);
        std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

class SwarmMassTest : public testing::TestWithParam<Case> {};
using SwarmTearTest = SwarmMassTest;

TEST_P(SwarmMassTest, Sum_WithConcurrentWriters_IsWhatWasPutIn) {
  const Case& parameters = GetParam();
  constexpr int kNodes = 8, kRounds = 400;
  SwarmNodes swarm({.nodes = kNodes,
                    .medium = parameters.medium,
                    .quantizer = {.bits = parameters.bits, .rotation = false, .seed = 2}},
                   std::vector<float>(parameters.floats, 0.5F));
  // Multiples of 2^-10, so that their own sum is exact.
  const auto displacement = [&](int node, int round) {
    std::mt19937 random(static_cast<std::uint32_t>(1000 * round + node));
    std::uniform_int_distribution<int> steps(-64, 64);
    std::vector<float> values(parameters.floats);
    for (float& value : values) value = static_cast<float>(steps(random)) * 0x1p-10F;
    return values;
  };
  Hammer(swarm, kRounds, displacement);

  std::vector<double> expected(parameters.floats, 0.5 * kNodes);
  for (int node = 0; node < kNodes; ++node) {
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<float> put_in = displacement(node, round);
      for (std::size_t k = 0; k < expected.size(); ++k) expected[k] += static_cast<double>(put_in[k]);
    }
  }
  const std::vector<double> sum = swarm.SettledSum();
  // Each addition to a model of magnitude up to about 4 rounds by at most 2^-22; they are random.
  for (std::size_t k = 0; k < sum.size(); ++k) EXPECT_NEAR(sum[k], expected[k], 1e-4) << k;

  std::int64_t appended = 0, folded = 0;
  for (int i = 0; i < kNodes; ++i) {
    const SwarmCounts counts = swarm[i].counts();
    appended += counts.appended;
    folded += counts.folded;
    std::int64_t ended = 0;
    for (const std::int64_t count : counts.interactions) ended += count;
    EXPECT_EQ(ended, kRounds) << i;
    EXPECT_EQ(counts.interactions[static_cast<std::size_t>(InteractionEnd::kAveraged)], counts.appended) << i;
    EXPECT_EQ(counts.closed_cells, 0) << i;
    EXPECT_EQ(swarm[i].waiting(), 0) << i;
  }
  EXPECT_EQ(appended, folded);
  EXPECT_GT(appended, 10 * kNodes);
}

// All weights of all models stay equal to the bit, unless somebody uses a mixture of two versions.
TEST_P(SwarmTearTest, Models_OfEqualWeights_StayEqualSinceNoTornReadIsUsed) {
  const std::size_t floats = 1000 * GetParam().floats;
  SwarmNodes swarm({.nodes = 8, .medium = GetParam().medium}, std::vector<float>(floats, 0.5F));
  Hammer(swarm, 60, [&](int node, int round) {
    return std::vector<float>(floats, 0.01F * static_cast<float>((node * 7 + round * 3) % 11 - 5));
  });
  swarm.SettledSum();
  for (int i = 0; i < swarm.size(); ++i) {
    const std::span<const float> model = swarm[i].model();
    for (std::size_t k = 1; k < floats; ++k) ASSERT_EQ(model[k], model[0]) << i << ", " << k;
  }
}

std::string CaseName(const testing::TestParamInfo<Case>& test) {
  std::string name = test.param.medium == SwarmMedium::kService ? "Service" : "SharedMemory";
  name += "Bits" + std::to_string(test.param.bits);
  name += "Floats" + std::to_string(test.param.floats);
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, SwarmMassTest,
                         testing::Values(Case{SwarmMedium::kSharedMemory, 0, 1}, Case{SwarmMedium::kSharedMemory, 8, 1},
                                         Case{SwarmMedium::kSharedMemory, 4, 65}, Case{SwarmMedium::kService, 0, 1},
                                         Case{SwarmMedium::kService, 8, 65}),
                         CaseName);
// Without a code: each weight would have its own dither.
INSTANTIATE_TEST_SUITE_P(Cases, SwarmTearTest,
                         testing::Values(Case{SwarmMedium::kSharedMemory, 0, 1}, Case{SwarmMedium::kService, 0, 1}),
                         CaseName);

}  // namespace
}  // namespace weft
