// ADPSGD (Lian et al. 2018): averaging conserves the sum of the models whatever is delayed or lost, contracts, and
// makes nobody wait for anybody's computation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <tuple>
#include <vector>

#include "agent/core/sampler.h"
#include "agent/dataplane/adpsgd_model.h"
#include "agent/transport/random_delay.h"
#include "common/mutex.h"
#include "tests/agent/dataplane/peer_cluster.h"

namespace weft {
namespace {

const std::vector<std::int64_t> kLayers = {6, 0, 9, 1, 5};
constexpr std::int64_t kFloats = 21;

void Spread(int worker, std::vector<float>& weights) {
  weights = ToyWeights(static_cast<std::int64_t>(weights.size()), 100 + static_cast<std::uint32_t>(worker));
}

std::vector<double> PutIn(int workers) {
  std::vector<std::vector<float>> start(static_cast<std::size_t>(workers), std::vector<float>(kFloats));
  for (int k = 0; k < workers; ++k) Spread(k, start[static_cast<std::size_t>(k)]);
  return SumOf(start);
}

std::vector<double> SumOfWeights(const PeerResult& result) {
  std::vector<std::vector<float>> models;
  for (const ToyWorker& worker : result.workers) models.push_back(worker.weights);
  return SumOf(models);
}

std::int64_t Total(const PeerResult& result, const std::string& name) {
  std::int64_t total = 0;
  for (const ExchangeStatistics& statistics : result.statistics) total += InteractionsOf(statistics, name);
  return total;
}

// Computing takes up to 300 us, and gives no gradient.
std::int64_t Compute(const ToyWorker& worker, std::int64_t t) {
  Clock::Steady().SleepFor(
      RandomDelay(std::chrono::microseconds(300), 5, worker.index, 0, Tag(MessageKind::kPeer, 0, 0), t));
  return 0;
}

PeerRun Pairs(int workers, TopologyType topology) {
  PeerRun run;
  run.shape = {.strategy = StrategyType::kADPSGD, .workers = workers, .layers = kLayers, .layers_per_group = 2};
  run.topology.type = topology;
  run.options.peer_timeout = std::chrono::seconds(30);
  run.options.exchange_timeout = std::chrono::seconds(20);
  run.network.max_delay = std::chrono::microseconds(100);
  run.iterations = 150;
  run.learning_rate = 0.01F;
  run.momentum = 0;
  run.gradient = [](ToyWorker& worker, std::int64_t t) { return Compute(worker, t); };
  run.perturb = Spread;
  return run;
}

class AdpsgdTest : public testing::TestWithParam<std::tuple<TopologyType, int, double>> {};

TEST_P(AdpsgdTest, WithoutGradients_KeepsTheSumAndContracts) {
  const auto [topology, workers, losses] = GetParam();
  PeerRun run = Pairs(workers, topology);
  run.network.loss_probability = losses;
  run.network.lossy_kinds = {MessageKind::kPeer};
  run.iterations = 400;
  const PeerResult result = RunPeers(run);
  for (const Status& status : result.status) ASSERT_TRUE(status.ok()) << status;
  const std::vector<double> expected = PutIn(workers), sum = SumOfWeights(result);
  for (std::size_t f = 0; f < sum.size(); ++f) EXPECT_NEAR(sum[f], expected[f], 1e-4);
  EXPECT_GE(Total(result, "averaged"), 20 * workers);
  EXPECT_EQ(Total(result, "lost") > 0, losses > 0);
  EXPECT_EQ(Total(result, "timeout"), 0);
  EXPECT_EQ(Total(result, "peer_dead"), 0);
  for (const ToyWorker& worker : result.workers) {
    for (std::size_t f = 0; f < sum.size(); ++f) {
      EXPECT_NEAR(static_cast<double>(worker.weights[f]), expected[f] / workers, 0.1);
    }
  }
}

// Odd rings too, which are not bipartite.
INSTANTIATE_TEST_SUITE_P(Cases, AdpsgdTest,
                         testing::Values(std::tuple(TopologyType::kComplete, 2, 0.0),
                                         std::tuple(TopologyType::kRing, 5, 0.0),
                                         std::tuple(TopologyType::kComplete, 6, 0.0),
                                         std::tuple(TopologyType::kRing, 3, 0.3),
                                         std::tuple(TopologyType::kComplete, 4, 0.2)));

TEST(Adpsgd, RepliesThatComeAfterTheTimeOut_StillKeepTheSum) {
  PeerRun run = Pairs(4, TopologyType::kComplete);
  run.options.exchange_timeout = std::chrono::microseconds(200);
  run.network.max_delay = std::chrono::milliseconds(1);
  const PeerResult result = RunPeers(run);
  for (const Status& status : result.status) ASSERT_TRUE(status.ok()) << status;
  EXPECT_GT(Total(result, "timeout"), 0);
  EXPECT_GT(Total(result, "averaged"), 0);
  const std::vector<double> expected = PutIn(4), sum = SumOfWeights(result);
  for (std::size_t f = 0; f < sum.size(); ++f) EXPECT_NEAR(sum[f], expected[f], 1e-4);
}

// The worst staleness there is: all begin at once, each is served in random order, and all replies come after that.
TEST(AdpsgdModel, AllBeginAtOnce_KeepsTheSumAndContracts) {
  constexpr int kNodes = 8, kRounds = 20;
  const Topology complete = Topology::Make({}, kNodes, 1).value();
  std::vector<std::unique_ptr<AdpsgdModel>> models;
  for (int k = 0; k < kNodes; ++k) {
    std::vector<float> weights(1000);
    Spread(k, weights);
    models.push_back(std::make_unique<AdpsgdModel>(weights));
  }
  const auto read = [&] {
    std::vector<std::vector<float>> all(kNodes, std::vector<float>(1000));
    for (std::size_t k = 0; k < kNodes; ++k) models[k]->Read(all[k]);
    return all;
  };
  const auto variance = [](const std::vector<std::vector<float>>& all) {
    const std::vector<double> sum = SumOf(all);
    double squares = 0;
    for (const std::vector<float>& model : all) {
      for (std::size_t f = 0; f < sum.size(); ++f) {
        squares += std::pow(static_cast<double>(model[f]) - sum[f] / kNodes, 2);
      }
    }
    return squares;
  };
  const std::vector<std::vector<float>> before = read();
  std::mt19937 random(3);
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::vector<std::vector<float>> sent = read();
    std::vector<std::vector<float>> replies = sent;
    std::vector<std::size_t> order(kNodes);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::shuffle(order, random);
    for (const std::size_t i : order) {
      const int partner = DrawPartner(complete, 9, static_cast<int>(i), round);
      EXPECT_TRUE(models[static_cast<std::size_t>(partner)]->AverageWith(sent[i], replies[i]));
    }
    for (std::size_t i = 0; i < kNodes; ++i) models[i]->ApplyReply(replies[i], sent[i]);
  }
  const std::vector<std::vector<float>> after = read();
  const std::vector<double> expected = SumOf(before), sum = SumOf(after);
  for (std::size_t f = 0; f < sum.size(); ++f) EXPECT_NEAR(sum[f], expected[f], 2e-5);
  EXPECT_LT(variance(after), 1e-3 * variance(before));
}

// Every step moves every float by the same, whatever the model is.
TEST(Adpsgd, LocalSteps_AddTheirDisplacementsToTheSum) {
  PeerRun run = Pairs(3, TopologyType::kRing);
  run.gradient = [](ToyWorker& worker, std::int64_t t) {
    Compute(worker, t);
    worker.gradients.assign(worker.gradients.size(), 1);
    return std::int64_t{1};
  };
  run.drain_period = 50;
  const PeerResult result = RunPeers(run);
  for (const Status& status : result.status) ASSERT_TRUE(status.ok()) << status;
  const std::vector<double> expected = PutIn(3), sum = SumOfWeights(result);
  for (std::size_t f = 0; f < sum.size(); ++f) EXPECT_NEAR(sum[f], expected[f] - 3 * 150 * 0.01, 1e-3);
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<std::vector<float>> models;
    for (const std::vector<PeerSnapshot>& drains : result.drains) models.push_back(drains[i].weights);
    const std::vector<double> part = SumOf(models);
    const double steps = 3.0 * 50 * static_cast<double>(i + 1);
    for (std::size_t f = 0; f < part.size(); ++f) EXPECT_NEAR(part[f], expected[f] - steps * 0.01, 1e-3);
  }
}

// Worker 0 computes its second iteration until all the others have ended all of theirs, and averages with them.
TEST(Adpsgd, PartnerThatComputesForLong_DelaysNobody) {
  PeerRun run = Pairs(3, TopologyType::kRing);
  Mutex mutex;
  CondVar ended_changed;
  int ended = 0;
  run.gradient = [&](ToyWorker& worker, std::int64_t t) {
    if (worker.index != 0 || t != 2) return Compute(worker, t);
    const MutexLock lock(mutex);
    const TimePoint deadline = Clock::Steady().Now() + std::chrono::seconds(25);
    while (ended < 2 && Clock::Steady().Now() < deadline) ended_changed.WaitUntil(mutex, deadline);
    EXPECT_EQ(ended, 2) << "the others waited for worker 0";
    return std::int64_t{0};
  };
  run.after_iteration = [&](int worker, std::int64_t iteration, LoopbackNetwork&) {
    const MutexLock lock(mutex);
    if (worker != 0 && iteration == 150) ++ended;
    ended_changed.NotifyAll();
    return OkStatus();
  };
  const PeerResult result = RunPeers(run);
  for (const Status& status : result.status) ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Total(result, "timeout"), 0);
  EXPECT_GT(InteractionsOf(result.statistics[1], "averaged"), 0);
  bool with_the_slow_one = false;
  for (const IterationRecord& record : result.records[1]) {
    for (const TransferRecord& transfer : record.transfers)
      with_the_slow_one |= transfer.server == 0 && record.iteration > 10;
  }
  EXPECT_TRUE(with_the_slow_one);
  const std::vector<double> expected = PutIn(3), sum = SumOfWeights(result);
  for (std::size_t f = 0; f < sum.size(); ++f) EXPECT_NEAR(sum[f], expected[f], 1e-4);
}

TEST(Adpsgd, RankDies_TheOthersGoOnWithoutIt) {
  PeerRun run = Pairs(4, TopologyType::kRing);
  run.after_iteration = [](int worker, std::int64_t iteration, LoopbackNetwork& network) {
    if (worker == 3 && iteration == 10) network.Kill(3);
    return OkStatus();
  };
  const PeerResult result = RunPeers(run);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_TRUE(result.status[k].ok()) << result.status[k];
    EXPECT_EQ(result.records[k].size(), 150U);
  }
  EXPECT_GT(InteractionsOf(result.statistics[1], "averaged"), 0);
}

TEST(Adpsgd, RankFallsSilent_IsSkippedAndCounted) {
  PeerRun run = Pairs(3, TopologyType::kRing);
  run.options.peer_timeout = std::chrono::milliseconds(300);
  run.options.exchange_timeout = std::chrono::milliseconds(2);
  run.network.max_delay = {};
  run.after_iteration = [](int worker, std::int64_t iteration, LoopbackNetwork& network) {
    if (worker == 2 && iteration == 5) network.Cut(2);
    return OkStatus();
  };
  const PeerResult result = RunPeers(run);
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(result.records[k].size(), 150U) << "its silence ended nobody's iterations";
    EXPECT_GE(InteractionsOf(result.statistics[k], "timeout"), 1);
    EXPECT_GT(InteractionsOf(result.statistics[k], "averaged"), 0);
    EXPECT_EQ(result.status[k].code(), StatusCode::kDeadlineExceeded) << "the last Drain needs it";
    EXPECT_NE(result.status[k].message().find("rank 2"), std::string::npos) << result.status[k];
  }
}

TEST(Adpsgd, ModelThatIsNotFinite_IsKeptFromTheOthers) {
  PeerRun run = Pairs(3, TopologyType::kRing);
  run.gradient = [](ToyWorker& worker, std::int64_t t) {
    Compute(worker, t);
    worker.gradients.assign(worker.gradients.size(), 0);
    if (worker.index == 0 && t == 5) worker.gradients[3] = std::numeric_limits<float>::quiet_NaN();
    return std::int64_t{1};
  };
  const PeerResult result = RunPeers(run);
  for (const Status& status : result.status) ASSERT_TRUE(status.ok()) << status;
  EXPECT_GT(Total(result, "not_finite"), 0);
  EXPECT_TRUE(std::isnan(result.workers[0].weights[3]));
  for (const float value : result.workers[1].weights) EXPECT_TRUE(std::isfinite(value));
  for (const float value : result.workers[2].weights) EXPECT_TRUE(std::isfinite(value));
}

// 3 messages of 2 M + 4 bytes an averaging, and 4 bytes for each neighbour at the end.
TEST(Adpsgd, MessagesAndBytes_AreThoseOfTheFormula) {
  const PeerResult result = RunPeers(Pairs(4, TopologyType::kRing));
  std::int64_t messages = 0, bytes = 0;
  for (const RankStatistics& rank : result.traffic) {
    const TrafficCount& count = rank.egress.by_kind[static_cast<std::size_t>(MessageKind::kPeer)];
    messages += count.messages;
    bytes += count.bytes;
  }
  const std::int64_t averagings = Total(result, "averaged"), farewells = 4 * 2;
  EXPECT_EQ(messages, 3 * averagings + farewells);
  EXPECT_EQ(bytes, averagings * (2 * 4 * kFloats + 4) + 4 * farewells);
  EXPECT_LE(averagings + Total(result, "busy"), 4 * 150) << "at most one is begun in an iteration";
  EXPECT_GT(averagings, 0);
}

}  // namespace
}  // namespace weft
