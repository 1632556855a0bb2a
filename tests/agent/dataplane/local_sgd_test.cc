// LocalSGD against AllReduce and against a naive reference, and SlowMo against the paper's equations.
#include <gtest/gtest.h>

#include <cmath>

#include "agent/core/update_rule.h"
#include "agent/dataplane/slow_momentum.h"
#include "agent/transport/all_reduce.h"
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

PeerRun Local(StrategyType strategy, int workers, int period, std::int64_t iterations) {
  PeerRun run;
  run.shape = {.strategy = strategy, .workers = workers, .period = period, .layers = kLayers, .layers_per_group = 2};
  run.network.max_delay = std::chrono::microseconds(100);
  run.iterations = iterations;
  run.learning_rate = 0.02F;
  run.gradient = [workers](ToyWorker& worker, std::int64_t t) { return EvenShare(worker, t, workers); };
  return run;
}

// Stich 2019, Algorithm 1, with momentum, and SlowMo's Algorithm 1 around it, in double where it may be.
std::vector<float> Reference(const PeerRun& run) {
  const int workers = run.shape.workers;
  std::vector<ToyWorker> nodes;
  const std::vector<float> initial = ToyWeights(ToyCount(kLayers), 7);
  for (int k = 0; k < workers; ++k) {
    nodes.push_back({.index = k,
                     .weights = initial,
                     .gradients = std::vector<float>(initial.size()),
                     .velocity = std::vector<float>(initial.size()),
                     .layers = {}});
  }
  std::vector<double> start(initial.begin(), initial.end()), u(initial.size());
  const double beta = run.options.slow_momentum, alpha = run.options.slow_rate;
  const auto gamma = static_cast<double>(run.learning_rate);
  for (std::int64_t t = 1; t <= run.iterations; ++t) {
    for (ToyWorker& node : nodes) {
      EvenShare(node, t, workers);
      SgdStep(node.weights, node.gradients, node.velocity,
              {.learning_rate = run.learning_rate, .momentum = run.momentum, .weight_decay = 0}, t == 1);
    }
    if (t % run.shape.period != 0 && t != run.iterations) continue;
    for (std::size_t i = 0; i < initial.size(); ++i) {
      double mean = 0;
      for (const ToyWorker& node : nodes) mean += static_cast<double>(node.weights[i]) / workers;
      u[i] = beta * u[i] + (start[i] - mean) / gamma;
      start[i] -= alpha * gamma * u[i];
      for (ToyWorker& node : nodes) node.weights[i] = static_cast<float>(start[i]);
    }
  }
  return nodes[0].weights;
}

TEST(LocalSgd, PeriodOneWithAndWithoutMomentum_EqualsAllReduce) {
  for (const float momentum : {0.0F, 0.9F}) {
    for (const int workers : {1, 2, 3, 4}) {
      PeerRun local = Local(StrategyType::kLocalSGD, workers, 1, 20),
              joint = Local(StrategyType::kAllReduce, workers, 1, 20);
      local.momentum = joint.momentum = momentum;
      const PeerResult a = RunPeers(local), b = RunPeers(joint);
      for (std::size_t k = 0; k < a.workers.size(); ++k) {
        ASSERT_TRUE(a.status[k].ok()) << a.status[k];
        EXPECT_LT(RelativeDistance(a.workers[k].weights, b.workers[k].weights), 1e-5) << workers << " workers";
      }
    }
  }
}

TEST(LocalSgd, LongerPeriods_EqualTheReference) {
  for (const int workers : {2, 3}) {
    for (const int period : {2, 3, 5}) {
      const PeerRun run = Local(StrategyType::kLocalSGD, workers, period, 11);
      const PeerResult result = RunPeers(run);
      ASSERT_TRUE(result.status[0].ok()) << result.status[0];
      EXPECT_LT(RelativeDistance(result.workers[0].weights, Reference(run)), 1e-5);
      EXPECT_EQ(result.workers[0].weights, result.workers[1].weights) << "a last average ends the run";
      EXPECT_NE(result.workers[0].velocity, result.workers[1].velocity) << "the optimizer's state stays local";
    }
  }
}

TEST(LocalSgd, SlowMomentum_EqualsItsAlgorithm) {
  PeerRun run = Local(StrategyType::kLocalSGD, 3, 2, 12);
  run.momentum = 0;
  run.options.slow_momentum = 0.6;
  run.options.slow_rate = 0.9;
  const PeerResult result = RunPeers(run);
  ASSERT_TRUE(result.status[0].ok()) << result.status[0];
  EXPECT_LT(RelativeDistance(result.workers[0].weights, Reference(run)), 1e-5);
  PeerRun bare = Local(StrategyType::kLocalSGD, 3, 2, 12);
  bare.momentum = 0;
  EXPECT_GT(RelativeDistance(result.workers[0].weights, RunPeers(bare).workers[0].weights), 1e-3);
}

TEST(LocalSgd, Resumed_EqualsTheUninterruptedRunBitForBit) {
  for (const double slow_momentum : {0.0, 0.5}) {
    PeerRun whole = Local(StrategyType::kLocalSGD, 3, 2, 8);
    whole.options.slow_momentum = slow_momentum;
    const PeerResult expected = RunPeers(whole);
    const PeerResult result = RunPeersInTwoParts(whole, 3);  // paused in mid-period
    for (std::size_t k = 0; k < result.workers.size(); ++k) {
      ASSERT_TRUE(result.status[k].ok()) << result.status[k];
      EXPECT_EQ(result.workers[k].weights, expected.workers[k].weights);
    }
  }
}

// G sums of M bytes every H iterations.
TEST(LocalSgd, MessagesAndBytes_AreThoseOfTheFormula) {
  for (const int workers : {2, 3}) {
    const PeerRun run = Local(StrategyType::kLocalSGD, workers, 3, 6);
    const Plan plan = ToyPlan(run.shape);
    const PeerResult result = RunPeers(run);
    for (int k = 0; k < workers; ++k) {
      std::int64_t messages = 0, bytes = 0;
      for (const PlanGroup& group : plan.groups) {
        if (group.bytes == 0) continue;
        const AllReduceTraffic traffic = AllReduceTrafficOf(static_cast<std::size_t>(group.bytes / 4), workers, k);
        messages += traffic.messages;
        bytes += traffic.bytes;
      }
      const TrafficCount& sums =
          result.traffic[static_cast<std::size_t>(k)].egress.by_kind[static_cast<std::size_t>(MessageKind::kReduce)];
      EXPECT_EQ(sums.messages, 2 * messages);
      EXPECT_EQ(sums.bytes, 2 * bytes);
    }
  }
}

TEST(SlowMomentum, MomentumZeroAndRateOne_GivesBackTheWeights) {
  const std::vector<float> start = ToyWeights(1000, 1), moved = ToyWeights(1000, 2);
  SlowMomentum slow(0, 1, start.size(), start);
  std::vector<float> weights = moved;
  slow.Step({0, 1000}, weights, 0.05);
  EXPECT_LT(LargestDifference(weights, moved), 2e-6);
}

TEST(SlowMomentum, LearningRateZero_TakesTheWeightsAndKeepsTheMomentum) {
  const std::vector<float> start = ToyWeights(10, 1), moved = ToyWeights(10, 2);
  SlowMomentum slow(0.5, 1, start.size(), start);
  std::vector<float> weights = moved;
  slow.Step({0, 10}, weights, 0);
  EXPECT_EQ(weights, moved);
  slow.Step({0, 10}, weights, 0.1);
  EXPECT_EQ(weights, moved) << "nothing has moved since, and there is no momentum yet";
}

TEST(SlowMomentum, DisplacementAndWeights_GiveTheSame) {
  const std::vector<float> start = ToyWeights(64, 1);
  SlowMomentum on_weights(0.7, 0.8, 64, start), on_displacement(0.7, 0.8, 64, {});
  std::vector<float> x = start, y = start;
  for (std::uint32_t t = 0; t < 4; ++t) {
    const std::vector<float> step = ToyWeights(64, 10 + t);
    std::vector<float> displacement = step;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += step[i];
    on_weights.Step({0, 64}, x, 0.1);
    on_displacement.StepDisplacement({0, 64}, displacement, 0.1);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += displacement[i];
  }
  EXPECT_LT(LargestDifference(x, y), 1e-4);
}

TEST(SlowMomentum, RatesThatCannotWork_AreRefused) {
  EXPECT_EQ(SlowMomentum::Validate(1, 1).message(), "slowMomentum: 1.000000 is not in [0, 1)");
  EXPECT_EQ(SlowMomentum::Validate(0.5, 0).message(), "slowRate: 0.000000 is not above 0");
}

}  // namespace
}  // namespace weft
