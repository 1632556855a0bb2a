// MergedPS and BulkSynchronousPS against plain SGD on the joined batch: linear regression.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <tuple>

#include "agent/core/update_rule.h"
#include "tests/agent/dataplane/toy_cluster.h"

namespace weft {
namespace {

constexpr std::int64_t kSamples = 13;  // a joined batch: divides evenly by none of the numbers of workers but 1
const std::vector<std::int64_t> kLayers = {6, 0, 9, 1, 5};

// Uneven shares; with 5 workers the first has none.
std::int64_t Cut(int k, int workers) { return kSamples * k * k / (workers * workers); }

using Case = std::tuple<StrategyType, int, int>;  // strategy, K, S

class SynchronousTest : public testing::TestWithParam<Case> {
 protected:
  ToyRun Run(std::int64_t iterations) const {
    const auto [strategy, workers, servers] = GetParam();
    ToyRun run;
    run.shape = {.strategy = strategy,
                 .workers = workers,
                 .servers = servers,
                 .period = 1,
                 .layers = kLayers,
                 .layers_per_group = strategy == StrategyType::kMergedPS ? 2 : 1};
    run.network.max_delay = std::chrono::microseconds(100);
    run.iterations = iterations;
    run.learning_rate = 0.02F;
    const int k = workers;
    run.gradient = [k](ToyWorker& worker, std::int64_t t) {
      const std::int64_t from = Cut(worker.index, k), to = Cut(worker.index + 1, k);
      ToyRegression(worker.weights, worker.gradients, {.t = t, .samples = kSamples, .from = from, .to = to});
      return to - from;
    };
    return run;
  }

  static std::vector<float> PlainSgd(std::int64_t iterations) {
    std::vector<float> weights = ToyWeights(ToyCount(kLayers), 7), gradients(weights.size()), velocity(weights.size());
    for (std::int64_t t = 1; t <= iterations; ++t) {
      ToyRegression(weights, gradients, {.t = t, .samples = kSamples, .from = 0, .to = kSamples});
      SgdStep(weights, gradients, velocity, {.learning_rate = 0.02F, .momentum = 0.9F, .weight_decay = 0}, t == 1);
    }
    return weights;
  }

  static double Distance(const std::vector<float>& a, const std::vector<float>& b) {
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
      norm += std::pow(static_cast<double>(b[i]), 2);
    }
    return std::sqrt(difference / norm);
  }
};

TEST_P(SynchronousTest, UnevenBatches_EqualPlainSgdOnTheJoinedBatch) {
  for (const auto& [iterations, tolerance] : {std::pair{3, 1e-6}, std::pair{100, 1e-5}}) {
    const ToyResult result = RunToy(Run(iterations));
    const std::vector<float> expected = PlainSgd(iterations);
    for (std::size_t k = 0; k < result.workers.size(); ++k) {
      ASSERT_TRUE(result.worker_status[k].ok()) << result.worker_status[k];
      EXPECT_LT(Distance(result.workers[k].weights, expected), tolerance) << "worker " << k;
      EXPECT_EQ(result.workers[k].weights, result.workers[0].weights) << "worker " << k;
      EXPECT_EQ(result.workers[k].steps, 4 * iterations) << "each layer with weights is stepped once an iteration";
    }
    for (const Status& status : result.server_status) EXPECT_TRUE(status.ok()) << status;
  }
}

TEST_P(SynchronousTest, NoSamplesAnywhere_LeavesTheWeights) {
  ToyRun run = Run(2);
  run.gradient = [](ToyWorker&, std::int64_t) { return std::int64_t{0}; };
  const ToyResult result = RunToy(run);
  EXPECT_EQ(result.workers[0].weights, ToyWeights(ToyCount(kLayers), 7));
  EXPECT_EQ(result.workers[0].steps, 0);
}

// Per iteration, with G shards of M bytes in all: each worker sends G requests and M bytes and gets G replies and M.
TEST_P(SynchronousTest, MessagesAndBytes_AreThoseOfTheFormula) {
  constexpr std::int64_t kIterations = 4;
  const ToyRun run = Run(kIterations);
  const Plan plan = ToyPlan(run.shape);
  const ToyResult result = RunToy(run);
  const bool exchanges = plan.workers > 1;
  const auto shards = static_cast<std::int64_t>(plan.shards.size());
  const std::int64_t bytes = 4 * ToyCount(kLayers);
  for (int k = 0; k < plan.workers; ++k) {
    const LinkStatistics& out = result.traffic[static_cast<std::size_t>(k)].egress;
    const LinkStatistics& in = result.traffic[static_cast<std::size_t>(k)].ingress;
    for (const auto& [direction, kind] : {std::pair{&out, MessageKind::kPush}, std::pair{&in, MessageKind::kPull}}) {
      const TrafficCount& payload = direction->by_kind[static_cast<std::size_t>(kind)];
      EXPECT_EQ(payload.messages, exchanges ? kIterations * shards : 0);
      EXPECT_EQ(payload.bytes, exchanges ? kIterations * bytes : 0);
      const TrafficCount& control = direction->by_kind[static_cast<std::size_t>(MessageKind::kControl)];
      EXPECT_EQ(control.messages, exchanges ? kIterations * shards + plan.servers : 0);
      EXPECT_EQ(control.bytes, 64 * control.messages);
    }
  }
}

std::string CaseName(const testing::TestParamInfo<Case>& info) {
  const auto [strategy, workers, servers] = info.param;
  std::ostringstream name;
  name << (strategy == StrategyType::kMergedPS ? "Merged" : "BulkSynchronous") << "K" << workers << "S" << servers;
  return name.str();
}

INSTANTIATE_TEST_SUITE_P(Cases, SynchronousTest,
                         testing::Combine(testing::Values(StrategyType::kMergedPS, StrategyType::kBulkSynchronousPS),
                                          testing::Values(1, 2, 3, 5), testing::Values(1, 2)),
                         CaseName);

}  // namespace
}  // namespace weft
