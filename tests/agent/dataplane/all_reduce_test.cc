// AllReduce against plain SGD on the joined batch: linear regression.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

#include "agent/transport/all_reduce.h"
#include "tests/agent/dataplane/peer_cluster.h"

namespace weft {
namespace {

constexpr std::int64_t kSamples = 13;  // a joined batch: divides evenly by none of the numbers of workers but 1
const std::vector<std::int64_t> kLayers = {6, 0, 9, 1, 5};

// Uneven shares; with 5 workers the first has none.
std::int64_t Cut(int k, int workers) { return kSamples * k * k / (workers * workers); }

class AllReduceTest : public testing::TestWithParam<std::tuple<int, int>> {  // workers, layers a group
 protected:
  PeerRun Run(std::int64_t iterations) const {
    const auto [workers, layers_per_group] = GetParam();
    PeerRun run;
    run.shape = {.strategy = StrategyType::kAllReduce,
                 .workers = workers,
                 .layers = kLayers,
                 .layers_per_group = layers_per_group};
    run.network.max_delay = std::chrono::microseconds(100);
    run.iterations = iterations;
    run.learning_rate = 0.02F;
    run.gradient = [workers](ToyWorker& worker, std::int64_t t) {
      const std::int64_t from = Cut(worker.index, workers), to = Cut(worker.index + 1, workers);
      ToyRegression(worker.weights, worker.gradients, {.t = t, .samples = kSamples, .from = from, .to = to});
      // What is there without samples must not count.
      if (to == from) std::ranges::fill(worker.gradients, std::numeric_limits<float>::quiet_NaN());
      return to - from;
    };
    return run;
  }
};

TEST_P(AllReduceTest, UnevenBatches_EqualPlainSgdOnTheJoinedBatch) {
  for (const auto& [iterations, tolerance] : {std::pair{3, 1e-6}, std::pair{100, 1e-5}}) {
    const PeerRun run = Run(iterations);
    const PeerResult result = RunPeers(run);
    for (std::size_t k = 0; k < result.workers.size(); ++k) {
      ASSERT_TRUE(result.status[k].ok()) << result.status[k];
      EXPECT_LT(RelativeDistance(result.workers[k].weights, PlainSgd(run, kSamples)), tolerance) << "worker " << k;
      EXPECT_EQ(result.workers[k].weights, result.workers[0].weights) << "worker " << k;
      EXPECT_EQ(result.workers[k].velocity, result.workers[0].velocity) << "worker " << k;
      EXPECT_EQ(result.workers[k].steps, 4 * iterations) << "each layer with weights is stepped once an iteration";
    }
  }
}

TEST_P(AllReduceTest, NoSamplesAnywhere_LeavesTheWeights) {
  PeerRun run = Run(2);
  run.gradient = nullptr;
  const PeerResult result = RunPeers(run);
  EXPECT_TRUE(result.status[0].ok()) << result.status[0];
  EXPECT_EQ(result.workers[0].weights, ToyWeights(ToyCount(kLayers), 7));
  EXPECT_EQ(result.workers[0].steps, 0);
}

// The sums of G buckets, each with one float for the samples.
TEST_P(AllReduceTest, MessagesAndBytes_AreThoseOfTheFormula) {
  constexpr std::int64_t kIterations = 4;
  const PeerRun run = Run(kIterations);
  const Plan plan = ToyPlan(run.shape);
  const PeerResult result = RunPeers(run);
  for (int k = 0; k < plan.workers; ++k) {
    std::int64_t messages = 0, bytes = 0, buckets = 0;
    for (const PlanGroup& group : plan.groups) {
      if (group.bytes == 0 || plan.workers == 1) continue;
      const AllReduceTraffic traffic =
          AllReduceTrafficOf(static_cast<std::size_t>(group.bytes / 4) + 1, plan.workers, k);
      messages += traffic.messages;
      bytes += traffic.bytes;
      ++buckets;
    }
    const auto index = static_cast<std::size_t>(k);
    const LinkStatistics& out = result.traffic[index].egress;
    const TrafficCount& sums = out.by_kind[static_cast<std::size_t>(MessageKind::kReduce)];
    EXPECT_EQ(sums.messages, kIterations * messages);
    EXPECT_EQ(sums.bytes, kIterations * bytes);
    const TrafficCount& control = out.by_kind[static_cast<std::size_t>(MessageKind::kControl)];
    EXPECT_EQ(control.messages, plan.workers == 1 ? 0 : 2 * (plan.workers - 1)) << "a barrier and a goodbye";
    std::int64_t recorded = 0, transfers = 0;
    for (const IterationRecord& record : result.records[index]) {
      recorded += record.sent_bytes;
      transfers += static_cast<std::int64_t>(record.transfers.size());
    }
    EXPECT_LE(recorded, kIterations * bytes);
    EXPECT_GE(recorded, (kIterations - 1) * bytes) << "the last iteration's sums may end behind its record";
    EXPECT_EQ(transfers, (kIterations - 1) * buckets);
  }
}

TEST_P(AllReduceTest, Resumed_EqualsTheUninterruptedRunBitForBit) {
  const PeerRun whole = Run(6);
  const PeerResult expected = RunPeers(whole);
  const PeerResult result = RunPeersInTwoParts(whole, 3);
  for (std::size_t k = 0; k < result.workers.size(); ++k) {
    ASSERT_TRUE(result.status[k].ok()) << result.status[k];
    EXPECT_EQ(result.workers[k].weights, expected.workers[k].weights);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, AllReduceTest, testing::Combine(testing::Values(1, 2, 3, 5), testing::Values(1, 2, 5)));

}  // namespace
}  // namespace weft
