// SwarmSGD as a whole: workers with their exchangers over the loopback.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "agent/core/quantizer.h"
#include "common/math/finite.h"
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
  run.options.exchange_timeout = std::chrono::seconds(30);  // however busy the machine is
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
  EXPECT_GE(averaged, run.shape.workers);
  // Without averaging: 40 steps of variance kRate^2 each, in each of n models.
  const double apart =
      40.0 * static_cast<double>(kRate * kRate) * static_cast<double>(ToyCount(kLayers)) * (run.shape.workers - 1);
  EXPECT_LT(ModelVariance(WeightsOf(result)), 0.9 * apart);
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

std::int64_t CountOf(const PeerResult& result, int worker, const std::string& name) {
  return InteractionsOf(result.statistics[static_cast<std::size_t>(worker)], name);
}

TEST(SwarmPlaneTest, RoundsThatTakeNoTime_HaveAnInteractionEach) {
  for (const int workers : {2, 4}) {
    PeerRun run = Swarm(workers, 2, 100, 8);
    const PeerResult result = RunPeers(run);
    ExpectAllOk(result);
    std::int64_t averaged = 0;
    for (int k = 0; k < workers; ++k) {
      std::int64_t ended = 0;
      for (const auto& [name, count] : result.statistics[static_cast<std::size_t>(k)].interactions) ended += count;
      EXPECT_GE(ended, 49) << k;  // the last round's may not have begun
      averaged += CountOf(result, k, "averaged");
    }
    EXPECT_GE(averaged, workers);  // as many as the threads' timing allows: the others found a queue full
  }
}

TEST(SwarmPlaneTest, Rounds_OfGeometricLength_KeepTheSum) {
  PeerRun run = Swarm(4, 3, 60, 8);
  run.options.local_steps_distribution = LocalStepsDistribution::kGeometric;
  const PeerResult result = RunPeers(run);
  ExpectAllOk(result);
  EXPECT_LT(LargestError(SumOf(WeightsOf(result)), ExpectedSum(run)), 2e-4);
}

TEST(SwarmPlaneTest, Drains_InBetween_LeaveNothingPending) {
  PeerRun run = Swarm(4, 2, 42, 8);
  run.drain_period = 7;
  const PeerResult result = RunPeers(run);
  ExpectAllOk(result);
  ASSERT_EQ(result.drains[0].size(), 5U);
  for (std::size_t d = 0; d < 5; ++d) {
    PeerRun until = run;
    until.iterations = 7 * static_cast<std::int64_t>(d + 1);
    std::vector<std::vector<float>> weights;
    for (const std::vector<PeerSnapshot>& snapshots : result.drains) weights.push_back(snapshots[d].weights);
    EXPECT_LT(LargestError(SumOf(weights), ExpectedSum(until)), 2e-4) << d;
  }
}

TEST(SwarmPlaneTest, Resume_GoesOnWhereItWas) {
  PeerRun run = Swarm(3, 4, 22, 8);
  run.finish = false;
  const PeerResult first = RunPeers(run);
  ExpectAllOk(first);
  PeerRun rest = run;
  rest.first_iteration = 23;
  rest.iterations = 20;
  rest.finish = true;
  rest.resume_workers = first.workers;
  rest.resume_planes = first.Planes();
  const PeerResult second = RunPeers(rest);
  ExpectAllOk(second);
  PeerRun all = run;
  all.iterations = 42;
  EXPECT_LT(LargestError(SumOf(WeightsOf(second)), ExpectedSum(all)), 2e-4);

  rest.resume_planes[1][0].values.pop_back();
  rest.options.exchange_timeout = std::chrono::milliseconds(100);  // of the others, whom it leaves
  const PeerResult refused = RunPeers(rest);
  EXPECT_EQ(refused.status[1].code(), StatusCode::kInvalidArgument);
  EXPECT_NE(refused.status[1].message().find("swarm_counters"), std::string::npos) << refused.status[1];
}

TEST(SwarmPlaneTest, CountersOfASavedState_NeverGoBack) {
  PeerRun run = Swarm(2, 1, 20, 8);
  run.drain_period = 5;
  run.finish = false;
  const PeerResult result = RunPeers(run);
  ExpectAllOk(result);
  for (const std::vector<PeerSnapshot>& snapshots : result.drains) {
    double before = 0;
    for (const PeerSnapshot& snapshot : snapshots) {
      const std::vector<float> counters = ValuesOf(snapshot.tensors, "swarm_counters");
      ASSERT_EQ(counters.size(), 16U);
      double next_key = 0;  // 16 bits a float, from the lowest
      for (std::size_t part = 4; part-- > 0;) next_key = 65536 * next_key + static_cast<double>(counters[part]);
      EXPECT_GT(next_key, before);
      before = next_key;
    }
  }
}

// SlowMo's outer step on each round's displacement d: u <- m u - d / gamma, displacement -rate gamma u.
TEST(SwarmPlaneTest, SlowMomentum_StepsTheDisplacements) {
  PeerRun run = Swarm(3, 4, 40, 0);
  run.options.slow_momentum = 0.5;
  run.options.slow_rate = 0.8;
  const PeerResult result = RunPeers(run);
  ExpectAllOk(result);
  const std::vector<float> initial = ToyWeights(ToyCount(kLayers), 7);
  std::vector<double> expected(initial.size());
  for (int k = 0; k < 3; ++k) {
    std::vector<double> u(initial.size()), displacement(initial.size());
    for (std::size_t i = 0; i < u.size(); ++i) expected[i] += static_cast<double>(initial[i]);
    for (std::int64_t t = 1; t <= run.iterations; ++t) {
      const std::vector<float> noise = NoiseOf(k, t);
      for (std::size_t i = 0; i < u.size(); ++i) {
        displacement[i] -= static_cast<double>(kRate) * static_cast<double>(noise[i]);
        if (t % 4 != 0) continue;
        u[i] = 0.5 * u[i] - displacement[i] / static_cast<double>(kRate);
        expected[i] -= 0.8 * static_cast<double>(kRate) * u[i];
        displacement[i] = 0;
      }
    }
  }
  EXPECT_LT(LargestError(SumOf(WeightsOf(result)), expected), 5e-4);
}

TEST(SwarmPlaneTest, IterationsWithoutSamples_CountForTheSchedule) {
  PeerRun run = Swarm(2, 2, 20, 8);
  run.gradient = [](ToyWorker& worker, std::int64_t t) {
    worker.gradients = NoiseOf(worker.index, t);
    return std::int64_t{t % 2};
  };
  const PeerResult result = RunPeers(run);
  ExpectAllOk(result);
  for (const ToyWorker& worker : result.workers) EXPECT_EQ(worker.steps, 10 * 4);  // layers with floats
  std::int64_t rounds = 0;
  for (const std::vector<IterationRecord>& records : result.records) {
    for (const IterationRecord& record : records) rounds += record.stall > Duration::zero() ? 1 : 0;
  }
  EXPECT_EQ(rounds, 2 * 10);
}

TEST(SwarmPlaneTest, SmallestModels_Train) {
  for (const std::vector<std::int64_t>& layers : {std::vector<std::int64_t>{0, 1, 0}, {3}, {0}}) {
    PeerRun run = Swarm(3, 1, 20, 8);
    run.shape.layers = layers;
    run.gradient = [](ToyWorker& worker, std::int64_t t) {
      for (float& gradient : worker.gradients) gradient = static_cast<float>(t % 3 - 1);
      return std::int64_t{1};
    };
    ExpectAllOk(RunPeers(run));
  }
}

TEST(SwarmPlaneTest, GradientThatIsNotANumber_ReachesNoOtherWorker) {
  PeerRun run = Swarm(4, 2, 60, 8);
  run.gradient = [](ToyWorker& worker, std::int64_t t) {
    worker.gradients = NoiseOf(worker.index, t);
    if (worker.index == 1 && t == 11) worker.gradients[3] = std::numeric_limits<float>::quiet_NaN();
    if (worker.index == 1 && t == 31) worker.gradients[7000 - 600] = std::numeric_limits<float>::infinity();
    return std::int64_t{1};
  };
  const PeerResult result = RunPeers(run);
  ExpectAllOk(result);
  for (const ToyWorker& worker : result.workers) EXPECT_TRUE(AllFinite(worker.weights)) << worker.index;
  EXPECT_GE(CountOf(result, 1, "not_finite"), 1);
  for (const int other : {0, 2, 3}) EXPECT_EQ(CountOf(result, other, "not_finite"), 0) << other;
}

// The velocity would bring it back in every round.
TEST(SwarmPlaneTest, GradientThatIsNotANumberOnce_IsForgottenWithTheOptimizersState) {
  for (const double slow_momentum : {0.0, 0.5}) {
    PeerRun run = Swarm(4, 2, 60, 8);
    run.momentum = 0.9F;
    run.learning_rate = 0.01F;
    run.options.exchange_timeout = std::chrono::seconds(30);
    run.options.slow_momentum = slow_momentum;
    run.gradient = [](ToyWorker& worker, std::int64_t t) {
      worker.gradients = NoiseOf(worker.index, t);
      if (worker.index == 1 && t == 11) worker.gradients[3] = std::numeric_limits<float>::quiet_NaN();
      return std::int64_t{1};
    };
    const PeerResult result = RunPeers(run);
    ExpectAllOk(result);
    for (const ToyWorker& worker : result.workers) EXPECT_TRUE(AllFinite(worker.weights)) << worker.index;
    EXPECT_EQ(CountOf(result, 1, "not_finite"), 1);
    std::int64_t later = 0;  // deltas that it gives others afterwards
    for (const IterationRecord& record : result.records[1]) {
      for (const TransferRecord& transfer : record.transfers) {
        later += record.iteration > 16 && transfer.push_bytes > ToyCount(kLayers) / 2 ? 1 : 0;
      }
    }
    EXPECT_GE(later, 1);
  }
}

TEST(SwarmPlaneTest, TrainingThatDiverges_EndsWithWeightsThatAreNotFinite) {
  PeerRun run = Swarm(3, 2, 41, 8);
  run.gradient = [](ToyWorker& worker, std::int64_t t) {
    worker.gradients = NoiseOf(worker.index, t);
    if (worker.index == 1 && t > 20) worker.gradients[3] = std::numeric_limits<float>::infinity();
    return std::int64_t{1};
  };
  const PeerResult result = RunPeers(run);
  ExpectAllOk(result);
  EXPECT_FALSE(AllFinite(result.workers[1].weights));
  for (const std::size_t other : {0U, 2U}) EXPECT_TRUE(AllFinite(result.workers[other].weights)) << other;
}

TEST(SwarmPlaneTest, RankThatDies_IsLeftBehind) {
  PeerRun run = Swarm(4, 1, 60, 8);
  run.after_iteration = [](int worker, std::int64_t t, LoopbackNetwork& network) {
    if (worker != 2 || t != 20) return OkStatus();
    network.Kill(2);
    return UnavailableError("killed");
  };
  const PeerResult result = RunPeers(run);
  for (const int survivor : {0, 1, 3}) {
    EXPECT_TRUE(result.status[static_cast<std::size_t>(survivor)].ok())
        << result.status[static_cast<std::size_t>(survivor)];
    EXPECT_TRUE(AllFinite(result.workers[static_cast<std::size_t>(survivor)].weights));
  }
}

TEST(SwarmPlaneTest, RankThatStandsStill_CostsOneDeadlineAndIsThenLeftOut) {
  PeerRun run = Swarm(4, 1, 100, 8);
  run.options.exchange_timeout = std::chrono::milliseconds(200);
  run.options.peer_timeout = std::chrono::seconds(2);
  TimePoint cut{};
  run.after_iteration = [&cut](int worker, std::int64_t t, LoopbackNetwork& network) {
    if (worker != 2 || t != 20) return OkStatus();
    network.Cut(2);
    cut = Clock::Steady().Now();
    return OkStatus();
  };
  const PeerResult result = RunPeers(run);
  int others = 0;  // exchanges among the others
  for (const int other : {0, 1, 3}) {
    const auto k = static_cast<std::size_t>(other);
    EXPECT_EQ(result.records[k].size(), 100U);
    int with_it = 0;  // begun behind the cut
    for (const IterationRecord& record : result.records[k]) {
      for (const TransferRecord& transfer : record.transfers) {
        with_it += transfer.server == 2 && transfer.start > cut ? 1 : 0;
        others += transfer.server != 2 ? 1 : 0;
      }
    }
    EXPECT_LE(with_it, 1) << other;
    // Only the end needs all.
    EXPECT_FALSE(result.status[k].ok());
    EXPECT_TRUE(AllFinite(result.workers[k].weights));
  }
  EXPECT_GE(others, 5);
}

TEST(SwarmPlaneTest, Records_HaveTheBytesOfTheInteractions) {
  const PeerRun run = Swarm(3, 1, 40, 8);
  const PeerResult result = RunPeers(run);
  ExpectAllOk(result);
  const Quantizer quantizer({.bits = 8, .rotation = false, .seed = 1}, static_cast<std::size_t>(ToyCount(kLayers)));
  const auto cell = static_cast<std::int64_t>(quantizer.delta_bytes()) + 16;
  std::int64_t sent = 0, pushed = 0, transfers = 0;
  for (const std::vector<IterationRecord>& records : result.records) {
    for (const IterationRecord& record : records) {
      sent += record.sent_bytes;
      for (const TransferRecord& transfer : record.transfers) {
        pushed += transfer.push_bytes;
        transfers += transfer.push_bytes > 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GE(sent, pushed);
  EXPECT_GE(pushed, transfers * 8);
  EXPECT_GT(transfers, 0);
  EXPECT_LE(pushed, transfers * (cell + 16 + 4 * 16));
  EXPECT_EQ(result.statistics[0].mechanism, "service");
  EXPECT_FALSE(result.statistics[0].mechanism_reason.empty());
}

TEST(SwarmPlaneTest, StartingWeightsThatAreNotFinite_AreRefused) {
  PeerRun run = Swarm(2, 1, 2, 8);
  run.options.peer_timeout = std::chrono::milliseconds(500);
  run.perturb = [](int worker, std::vector<float>& weights) {
    if (worker == 1) weights[5] = std::numeric_limits<float>::quiet_NaN();
  };
  const PeerResult result = RunPeers(run);
  EXPECT_EQ(result.status[1].code(), StatusCode::kInvalidArgument) << result.status[1];
  EXPECT_FALSE(result.status[0].ok());
}

}  // namespace
}  // namespace weft
