// SGP (Assran et al. 2019): push-sum's conservation with messages under way and lost, overlap, restart after a death.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <vector>

#include "agent/dataplane/sgp.h"
#include "common/math/push_sum.h"
#include "tests/agent/dataplane/peer_cluster.h"

namespace weft {
namespace {

const std::vector<std::int64_t> kLayers = {6, 0, 9, 1, 5};

PeerRun Push(int workers, TopologyType topology, int overlap) {
  PeerRun run;
  run.shape = {.strategy = StrategyType::kSGP, .workers = workers, .layers = kLayers, .layers_per_group = 2};
  run.topology.type = topology;
  run.options.overlap = overlap;
  run.options.peer_timeout = std::chrono::seconds(20);
  run.network.max_delay = std::chrono::microseconds(200);
  run.iterations = 12;
  run.learning_rate = 0.02F;
  run.gradient = [workers](ToyWorker& worker, std::int64_t t) {
    ToyRegression(worker.weights, worker.gradients,
                  {.t = t, .samples = workers, .from = worker.index, .to = worker.index + 1});
    return std::int64_t{1};
  };
  return run;
}

void Spread(int worker, std::vector<float>& weights) {
  weights = ToyWeights(static_cast<std::int64_t>(weights.size()), 100 + static_cast<std::uint32_t>(worker));
}

// What all workers and what is under way hold at the i-th Drain: x, and w behind it.
std::vector<double> Mass(const PeerResult& result, std::size_t i) {
  std::vector<std::vector<float>> parts;
  for (const std::vector<PeerSnapshot>& drains : result.drains) {
    std::vector<float> own = ValuesOf(drains[i].tensors, "sgp_x");
    own.push_back(ValuesOf(drains[i].tensors, "sgp_w").front());
    parts.push_back(std::move(own));
    for (const PlaneTensor& tensor : drains[i].tensors) {
      if (tensor.name.starts_with("sgp_in_")) parts.push_back(tensor.values);
    }
  }
  return SumOf(parts);
}

class SgpTest : public testing::TestWithParam<std::tuple<TopologyType, int, int, double>> {};

TEST_P(SgpTest, WeightsAndWhatIsUnderWay_SumToTheNumberOfWorkersAtAnyCut) {
  const auto [topology, workers, overlap, losses] = GetParam();
  PeerRun run = Push(workers, topology, overlap);
  run.gradient = nullptr;
  run.perturb = Spread;
  run.network.loss_probability = losses;
  run.network.lossy_kinds = {MessageKind::kPeer};
  run.iterations = 60;
  run.drain_period = 1;
  run.finish = false;
  const PeerResult result = RunPeers(run);
  std::vector<std::vector<float>> start;
  for (int k = 0; k < workers; ++k) {
    start.emplace_back(ToyWeights(ToyCount(kLayers), 0));
    Spread(k, start.back());
  }
  const std::vector<double> put_in = SumOf(start);
  std::int64_t lost = 0, pending = 0;
  for (std::size_t k = 0; k < start.size(); ++k) {
    ASSERT_TRUE(result.status[k].ok()) << result.status[k];
    ASSERT_EQ(result.drains[k].size(), 60U);
    lost += InteractionsOf(result.statistics[k], "lost");
    pending += std::ssize(result.drains[k][30].tensors) - 2;
  }
  for (std::size_t i = 0; i < 60; ++i) {
    const std::vector<double> mass = Mass(result, i);
    EXPECT_NEAR(mass.back(), workers, 1e-5) << "cut " << i;
    for (std::size_t f = 0; f < put_in.size(); ++f) EXPECT_NEAR(mass[f], put_in[f], 1e-4) << "cut " << i;
  }
  if (losses > 0) {
    EXPECT_GT(lost, 0);
  } else if (overlap > 0) {
    EXPECT_GE(pending, workers - 1) << "messages are under way at a cut";
  }
  // z = x / w comes to the mean of what was put in.
  for (const ToyWorker& worker : result.workers) {
    for (std::size_t f = 0; f < put_in.size(); ++f) {
      EXPECT_NEAR(static_cast<double>(worker.weights[f]), put_in[f] / workers, losses > 0 ? 0.2 : 0.05);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, SgpTest,
    testing::Values(std::tuple(TopologyType::kRing, 4, 0, 0.0), std::tuple(TopologyType::kRing, 5, 1, 0.0),
                    std::tuple(TopologyType::kComplete, 4, 3, 0.0), std::tuple(TopologyType::kComplete, 2, 1, 0.0),
                    std::tuple(TopologyType::kComplete, 4, 0, 0.2), std::tuple(TopologyType::kRing, 4, 1, 0.3),
                    std::tuple(TopologyType::kComplete, 5, 2, 0.5)));

TEST(Sgp, Senders_AreThoseWhoseReceiverItIs) {
  const Topology topology = Topology::Make({.type = TopologyType::kRing, .degree = 0, .edges = {}}, 5, 1).value();
  for (std::int64_t t = 1; t < 7; ++t) {
    int senders = 0;
    for (int i = 0; i < 5; ++i) {
      for (const int from : SgpSenders(topology, i, t)) EXPECT_EQ(PushReceiver(topology, from, t), i);
      senders += static_cast<int>(SgpSenders(topology, i, t).size());
    }
    EXPECT_EQ(senders, 5);
  }
}

// Algorithm 1 with tau = 0 in one loop, in double.
TEST(Sgp, WithoutOverlap_EqualsThePapersAlgorithm) {
  constexpr int kWorkers = 5;
  PeerRun run = Push(kWorkers, TopologyType::kRing, 0);
  run.momentum = 0;
  const PeerResult result = RunPeers(run);
  const Topology topology = Topology::Make(run.topology, kWorkers, 1).value();
  const std::vector<float> initial = ToyWeights(ToyCount(kLayers), 7);
  std::vector<std::vector<double>> x(kWorkers, {initial.begin(), initial.end()});
  std::vector<double> w(kWorkers, 1);
  for (std::int64_t t = 1; t <= run.iterations; ++t) {
    for (int i = 0; i < kWorkers; ++i) {
      const auto k = static_cast<std::size_t>(i);
      std::vector<float> z(initial.size()), gradient(initial.size());
      for (std::size_t f = 0; f < z.size(); ++f) z[f] = static_cast<float>(x[k][f] / w[k]);
      ToyRegression(z, gradient, {.t = t, .samples = kWorkers, .from = i, .to = i + 1});
      for (std::size_t f = 0; f < z.size(); ++f) {
        x[k][f] -= static_cast<double>(run.learning_rate) * static_cast<double>(gradient[f]);
      }
    }
    std::vector<std::vector<double>> next(kWorkers, std::vector<double>(initial.size()));
    std::vector<double> next_w(kWorkers);
    for (int i = 0; i < kWorkers; ++i) {
      for (const int to : {i, PushReceiver(topology, i, t)}) {
        const auto from = static_cast<std::size_t>(i), into = static_cast<std::size_t>(to);
        for (std::size_t f = 0; f < initial.size(); ++f) next[into][f] += x[from][f] / 2;
        next_w[into] += w[from] / 2;
      }
    }
    x = next;
    w = next_w;
  }
  for (std::size_t k = 0; k < kWorkers; ++k) {
    ASSERT_TRUE(result.status[k].ok()) << result.status[k];
    for (std::size_t f = 0; f < initial.size(); ++f) {
      EXPECT_NEAR(static_cast<double>(result.workers[k].weights[f]), x[k][f] / w[k], 2e-5);
    }
  }
}

TEST(Sgp, Resumed_EqualsTheUninterruptedRunBitForBit) {
  for (const int overlap : {0, 1, 3}) {
    for (const double slow_momentum : {0.0, 0.5}) {
      PeerRun whole = Push(5, TopologyType::kRing, overlap);
      whole.options.slow_momentum = slow_momentum;
      whole.options.slow_period = 4;
      const PeerResult expected = RunPeers(whole);
      const PeerResult result = RunPeersInTwoParts(whole, 5);
      for (std::size_t k = 0; k < result.workers.size(); ++k) {
        ASSERT_TRUE(result.status[k].ok()) << result.status[k];
        EXPECT_EQ(result.workers[k].weights, expected.workers[k].weights) << "overlap " << overlap;
      }
    }
  }
}

TEST(Sgp, LossesUntilTheEnd_FinishNevertheless) {
  PeerRun run = Push(4, TopologyType::kComplete, 2);
  run.network.loss_probability = 0.3;
  run.network.lossy_kinds = {MessageKind::kPeer};
  const PeerResult result = RunPeers(run);
  std::int64_t lost = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_TRUE(result.status[k].ok()) << result.status[k];
    lost += InteractionsOf(result.statistics[k], "lost");
  }
  EXPECT_GT(lost, 0);
}

// One message of M + 4 bytes each.
TEST(Sgp, MessagesAndBytes_AreThoseOfTheFormula) {
  const PeerRun run = Push(4, TopologyType::kRing, 1);
  const PeerResult result = RunPeers(run);
  for (const RankStatistics& rank : result.traffic) {
    const TrafficCount& count = rank.egress.by_kind[static_cast<std::size_t>(MessageKind::kPeer)];
    EXPECT_EQ(count.messages, run.iterations);
    EXPECT_EQ(count.bytes, run.iterations * (4 * ToyCount(kLayers) + 4));
  }
}

// Section 5 of the design: survivors restart from z = x / w with w = 1.
TEST(Sgp, RankDies_SurvivorsRestartFromTheirEstimates) {
  PeerRun run = Push(4, TopologyType::kRing, 1);
  run.iterations = 1000;
  run.after_iteration = [](int worker, std::int64_t iteration, LoopbackNetwork& network) {
    if (worker == 3 && iteration == 20) network.Kill(3);
    return OkStatus();
  };
  const PeerResult broken = RunPeers(run);
  PeerRun again = Push(3, TopologyType::kRing, 1);
  for (int k = 0; k < 3; ++k) {
    const auto index = static_cast<std::size_t>(k);
    EXPECT_EQ(broken.status[index].code(), StatusCode::kUnavailable) << broken.status[index];
    again.resume_workers.push_back(broken.workers[index]);
    for (const float z : broken.workers[index].weights) EXPECT_TRUE(std::isfinite(z));
  }
  again.first_iteration = 30;
  again.iterations = 5;
  again.drain_period = 1;
  again.finish = false;
  again.gradient = nullptr;
  const PeerResult result = RunPeers(again);
  std::vector<std::vector<float>> estimates;
  for (const ToyWorker& worker : again.resume_workers) estimates.push_back(worker.weights);
  const std::vector<double> put_in = SumOf(estimates);
  for (std::size_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(result.status[0].ok()) << result.status[0];
    const std::vector<double> mass = Mass(result, i);
    EXPECT_NEAR(mass.back(), 3, 1e-6);
    for (std::size_t f = 0; f < put_in.size(); ++f) EXPECT_NEAR(mass[f], put_in[f], 1e-5);
  }
}

}  // namespace
}  // namespace weft
