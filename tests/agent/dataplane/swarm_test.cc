// SwarmSGD as a whole: workers with their exchangers over the loopback.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <thread>

#include "common/math/sketch.h"
#include "tests/agent/dataplane/peer_cluster.h"

namespace weft {
namespace {

const std::vector<std::int64_t> kLayers = {600, 0, 900, 1, 5000};
constexpr float kRate = 0.1F;

// Independent of the weights, so that all displacements are known: a standard normal vector for each worker and
// iteration.
std::vector<float> NoiseOf(int worker, std::int64_t t) {
  std::mt19937 random(static_cast<std::uint32_t>(1000 * t + worker));
  std::normal_distribution<float> normal;
  std::vector<float> noise(static_cast<std::size_t>(ToyCount(kLayers)));
  for (float& value : noise) value = normal(random);
  return noise;
}

std::int64_t RegisterMessages(LoopbackNetwork& network, int rank) {
  return network.statistics(rank).egress.by_kind[static_cast<std::size_t>(MessageKind::kRegister)].messages;
}

// Holds a worker after an iteration until its exchanger has done about one interaction for each `every` iterations: the
// toys' local steps take no time.
Status AwaitExchanges(int worker, std::int64_t iteration, std::int64_t every, LoopbackNetwork& network) {
  const TimePoint deadline = Clock::Steady().Now() + std::chrono::seconds(20);
  while (RegisterMessages(network, worker) < 5 * (iteration / every - 1) && Clock::Steady().Now() < deadline) {
    std::this_thread::yield();
  }
  return OkStatus();
}

PeerRun Swarm(int workers, int period, std::int64_t iterations, int bits) {
  PeerRun run;
  run.shape = {
      .strategy = StrategyType::kSwarm, .workers = workers, .period = period, .layers = kLayers, .layers_per_group = 2};
  run.quantization_bits = bits;
  run.iterations = iterations;
  run.learning_rate = kRate;
  run.momentum = 0;
  run.gradient = [](ToyWorker& worker, std::int64_t t) {
    worker.gradients = NoiseOf(worker.index, t);
    return std::int64_t{1};
  };
  run.after_iteration = [period](int worker, std::int64_t t, LoopbackNetwork& network) {
    return AwaitExchanges(worker, t, period, network);
  };
  return run;
}

void ExpectAllOk(const PeerResult& result) {
  for (std::size_t k = 0; k < result.status.size(); ++k) {
    EXPECT_TRUE(result.status[k].ok()) << k << ": " << result.status[k];
  }
}

std::vector<std::vector<float>> WeightsOf(const PeerResult& result) {
  std::vector<std::vector<float>> weights;
  for (const ToyWorker& worker : result.workers) weights.push_back(worker.weights);
  return weights;
}

// n X_0 plus all displacements.
std::vector<double> ExpectedSum(const PeerRun& run) {
  const std::vector<float> initial = ToyWeights(ToyCount(kLayers), 7);
  std::vector<double> sum(initial.size());
  for (int k = 0; k < run.shape.workers; ++k) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(initial[i]);
    for (std::int64_t t = 1; t <= run.iterations; ++t) {
      const std::vector<float> noise = NoiseOf(k, t);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] -= static_cast<double>(kRate) * static_cast<double>(noise[i]);
    }
  }
  return sum;
}

double LargestError(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

struct Case {
  int workers = 2;
  int period = 1;
  int bits = 0;
};

class SwarmTest : public testing::TestWithParam<Case> {};

TEST_P(SwarmTest, Weights_AfterFinish_SumToStartAndDisplacements) {
  const PeerRun run = Swarm(GetParam().workers, GetParam().period, 40, GetParam().bits);
  const PeerResult result = RunPeers(run);
  ExpectAllOk(result);
  EXPECT_LT(LargestError(SumOf(WeightsOf(result)), ExpectedSum(run)), 2e-4);
  std::int64_t averaged = 0;
  for (const ExchangeStatistics& statistics : result.statistics) averaged += InteractionsOf(statistics, "averaged");
  EXPECT_GE(averaged, run.shape.workers * 40 / GetParam().period / 4);
  // Without averaging: 40 steps of variance kRate^2 each, in each of n models.
  const double apart =
      40.0 * static_cast<double>(kRate * kRate) * static_cast<double>(ToyCount(kLayers)) * (run.shape.workers - 1);
  EXPECT_LT(ModelVariance(WeightsOf(result)), 0.7 * apart);
}

INSTANTIATE_TEST_SUITE_P(Cases, SwarmTest,
                         testing::Values(Case{2, 1, 0}, Case{2, 2, 8}, Case{3, 1, 8}, Case{4, 2, 4}, Case{8, 1, 8},
                                         Case{8, 4, 0}),
                         [](const auto& test) {
                           std::string name = "Workers";
                           name += std::to_string(test.param.workers);
                           name += "Steps";
                           name += std::to_string(test.param.period);
                           name += "Bits";
                           name += std::to_string(test.param.bits);
                           return name;
                         });

}  // namespace
}  // namespace weft
