// DPSGD (Lian et al. 2017) against AllReduce and, bit for bit, against its own naive reference.
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "agent/core/update_rule.h"
#include "common/math/topology.h"
#include "tests/agent/dataplane/peer_cluster.h"

namespace weft {
namespace {

const std::vector<std::int64_t> kLayers = {6, 0, 9, 1, 5};
constexpr std::int64_t kEach = 3;  // samples of each worker

std::int64_t EvenShare(ToyWorker& worker, std::int64_t t, int workers) {
  ToyRegression(worker.weights, worker.gradients,
                {.t = t, .samples = kEach * workers, .from = kEach * worker.index, .to = kEach * (worker.index + 1)});
  return kEach;
}

PeerRun Gossip(StrategyType strategy, TopologyType topology, int workers, CombineOrder order) {
  PeerRun run;
  run.shape = {.strategy = strategy, .workers = workers, .layers = kLayers, .layers_per_group = 2};
  run.topology.type = topology;
  run.options.order = order;
  run.network.max_delay = std::chrono::microseconds(200);
  run.iterations = 10;
  run.learning_rate = 0.02F;
  run.gradient = [workers](ToyWorker& worker, std::int64_t t) { return EvenShare(worker, t, workers); };
  return run;
}

// Algorithm 1 in one loop: own first, then neighbours in ascending order.
std::vector<ToyWorker> Reference(const PeerRun& run) {
  const int workers = run.shape.workers;
  const Topology topology = Topology::Make(run.topology, workers, run.options.seed).value();
  const std::vector<float> initial = ToyWeights(ToyCount(kLayers), 7);
  std::vector<ToyWorker> nodes;
  for (int k = 0; k < workers; ++k) {
    nodes.push_back({.index = k,
                     .weights = initial,
                     .gradients = std::vector<float>(initial.size()),
                     .velocity = std::vector<float>(initial.size()),
                     .layers = {}});
  }
  const auto combined = [&](const std::vector<std::vector<float>>& x, int i, std::size_t at) {
    const std::vector<double> w = MetropolisWeights(topology, i);
    float sum = x[static_cast<std::size_t>(i)][at] * static_cast<float>(w.back());
    for (std::size_t n = 0; n + 1 < w.size(); ++n) {
      sum += static_cast<float>(w[n]) * x[static_cast<std::size_t>(topology.neighbours(i)[n])][at];
    }
    return sum;
  };
  for (std::int64_t t = 1; t <= run.iterations; ++t) {
    std::vector<std::vector<float>> before, after;
    for (ToyWorker& node : nodes) {
      before.push_back(node.weights);
      EvenShare(node, t, workers);
      SgdStep(node.weights, node.gradients, node.velocity,
              {.learning_rate = run.learning_rate, .momentum = run.momentum, .weight_decay = 0}, t == 1);
      after.push_back(node.weights);
    }
    for (int i = 0; i < workers; ++i) {
      const auto k = static_cast<std::size_t>(i);
      for (std::size_t at = 0; at < initial.size(); ++at) {
        nodes[k].weights[at] = run.options.order == CombineOrder::kAdaptThenCombine
                                   ? combined(after, i, at)
                                   : (after[k][at] - before[k][at]) + combined(before, i, at);
      }
    }
  }
  return nodes;
}

class DpsgdTest : public testing::TestWithParam<std::tuple<TopologyType, int, CombineOrder>> {
 protected:
  static PeerRun Cluster() {
    const auto [topology, workers, order] = GetParam();
    return Gossip(StrategyType::kDPSGD, topology, workers, order);
  }
};

TEST_P(DpsgdTest, RandomDelays_EqualsTheReferenceBitForBit) {
  const PeerRun run = Cluster();
  const PeerResult result = RunPeers(run);
  const std::vector<ToyWorker> expected = Reference(run);
  for (std::size_t k = 0; k < result.workers.size(); ++k) {
    ASSERT_TRUE(result.status[k].ok()) << result.status[k];
    EXPECT_EQ(result.workers[k].weights, expected[k].weights) << "worker " << k;
  }
}

TEST_P(DpsgdTest, WithoutGradients_KeepsTheSumAndContracts) {
  PeerRun run = Cluster();
  run.gradient = nullptr;
  run.perturb = [](int worker, std::vector<float>& weights) {
    weights = ToyWeights(static_cast<std::int64_t>(weights.size()), 100 + static_cast<std::uint32_t>(worker));
  };
  run.iterations = 60;
  const PeerResult result = RunPeers(run);
  std::vector<std::vector<float>> before, after;
  for (std::size_t k = 0; k < result.workers.size(); ++k) {
    before.push_back(ToyWeights(ToyCount(kLayers), 100 + static_cast<std::uint32_t>(k)));
    after.push_back(result.workers[k].weights);
  }
  const std::vector<double> put_in = SumOf(before), sum = SumOf(after);
  for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], put_in[i], 2e-5);
  EXPECT_GT(LargestDifference(before[0], before[1]), 1);
  EXPECT_LT(LargestDifference(after[0], after[1]), 1e-3);
}

// deg M bytes each way, in deg messages or deg G.
TEST_P(DpsgdTest, MessagesAndBytes_AreThoseOfTheFormula) {
  const PeerRun run = Cluster();
  const auto [topology, workers, order] = GetParam();
  const Topology graph = Topology::Make(run.topology, workers, 1).value();
  std::int64_t groups = 0;
  for (const PlanGroup& group : ToyPlan(run.shape).groups) groups += group.bytes > 0 ? 1 : 0;
  const PeerResult result = RunPeers(run);
  for (int k = 0; k < workers; ++k) {
    const auto index = static_cast<std::size_t>(k);
    const std::int64_t degree = graph.degree(k), bytes = run.iterations * degree * ToyCount(kLayers) * 4;
    const RankStatistics& traffic = result.traffic[index];
    for (const LinkStatistics* link : {&traffic.egress, &traffic.ingress}) {
      const TrafficCount& count = link->by_kind[static_cast<std::size_t>(MessageKind::kPeer)];
      EXPECT_EQ(count.messages, run.iterations * degree * (order == CombineOrder::kAdaptThenCombine ? groups : 1));
      EXPECT_EQ(count.bytes, bytes);
    }
    std::int64_t sent = 0, received = 0;
    for (const IterationRecord& record : result.records[index]) {
      sent += record.sent_bytes;
      received += record.received_bytes;
    }
    EXPECT_LE(sent, bytes);
    EXPECT_GE(received, bytes * (run.iterations - 1) / run.iterations);
  }
}

TEST_P(DpsgdTest, Resumed_EqualsTheUninterruptedRunBitForBit) {
  PeerRun whole = Cluster();
  whole.options.slow_momentum = 0.5;
  whole.options.slow_period = 4;
  const PeerResult expected = RunPeers(whole);
  const PeerResult result = RunPeersInTwoParts(whole, 5);
  for (std::size_t k = 0; k < result.workers.size(); ++k) {
    ASSERT_TRUE(result.status[k].ok()) << result.status[k];
    EXPECT_EQ(result.workers[k].weights, expected.workers[k].weights);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, DpsgdTest,
                         testing::Values(std::tuple(TopologyType::kComplete, 2, CombineOrder::kCombineThenAdapt),
                                         std::tuple(TopologyType::kRing, 5, CombineOrder::kCombineThenAdapt),
                                         std::tuple(TopologyType::kHypercube, 8, CombineOrder::kCombineThenAdapt),
                                         std::tuple(TopologyType::kComplete, 3, CombineOrder::kAdaptThenCombine),
                                         std::tuple(TopologyType::kRing, 5, CombineOrder::kAdaptThenCombine)));

TEST(Dpsgd, AdaptThenCombineOnTheCompleteGraph_EqualsAllReduce) {
  for (const float momentum : {0.0F, 0.9F}) {
    for (const int workers : {2, 3, 4}) {
      PeerRun gossip = Gossip(StrategyType::kDPSGD, TopologyType::kComplete, workers, CombineOrder::kAdaptThenCombine);
      PeerRun joint =
          Gossip(StrategyType::kAllReduce, TopologyType::kComplete, workers, CombineOrder::kAdaptThenCombine);
      gossip.momentum = joint.momentum = momentum;
      const PeerResult a = RunPeers(gossip), b = RunPeers(joint);
      for (std::size_t k = 0; k < a.workers.size(); ++k) {
        ASSERT_TRUE(a.status[k].ok()) << a.status[k];
        EXPECT_LT(RelativeDistance(a.workers[k].weights, b.workers[k].weights), 1e-5) << workers << " workers";
      }
    }
  }
}

TEST(Dpsgd, SlowMomentum_ChangesTheRunAndRateOneAloneDoesNot) {
  const PeerRun bare = Gossip(StrategyType::kDPSGD, TopologyType::kRing, 4, CombineOrder::kCombineThenAdapt);
  PeerRun worn = bare, neutral = bare;
  worn.options.slow_momentum = 0.5;
  worn.options.slow_period = neutral.options.slow_period = 3;
  const PeerResult a = RunPeers(bare), b = RunPeers(worn), c = RunPeers(neutral);
  EXPECT_EQ(a.workers[0].weights, c.workers[0].weights);
  EXPECT_GT(RelativeDistance(b.workers[0].weights, a.workers[0].weights), 1e-3);
}

}  // namespace
}  // namespace weft
