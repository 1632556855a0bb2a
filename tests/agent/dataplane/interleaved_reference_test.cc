// InterleavedPS against a naive single-threaded reading of section 3's two equations, bit for bit.
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <tuple>

#include "agent/core/update_rule.h"
#include "tests/agent/dataplane/toy_cluster.h"

namespace weft {
namespace {

constexpr float kRate = 0.1F, kMomentum = 0.9F;

// Depends on the weights, the worker and the iteration.
std::int64_t Gradient(ToyWorker& worker, std::int64_t t) {
  for (std::size_t i = 0; i < worker.weights.size(); ++i) {
    const auto noise = static_cast<float>((static_cast<std::int64_t>(i) * 7 + worker.index * 13 + t * 5) % 11);
    worker.gradients[i] = 0.3F * worker.weights[i] + 0.02F * (noise - 5);
  }
  return 1;
}

struct Reference {
  std::vector<float> centre;
  std::vector<ToyWorker> workers;
  std::vector<std::vector<float>> centre_at;  // by iteration, from 0
};

// For each group and each worker one number after the other; nothing is shared with the code under test but SgdStep.
Reference RunReference(const ToyRun& run) {
  Plan plan = ToyPlan(run.shape);
  const std::vector<FloatRange> layers = ToyLayers(run.shape.layers);
  const std::size_t count = static_cast<std::size_t>(ToyCount(run.shape.layers));
  const auto workers = static_cast<std::size_t>(plan.workers);
  const auto beta = static_cast<float>(run.options.center_rate);
  const auto alpha = static_cast<float>(run.options.center_rate / plan.workers);
  Reference r;
  r.centre = ToyWeights(static_cast<std::int64_t>(count), 7);
  r.centre_at.push_back(r.centre);
  for (std::size_t k = 0; k < workers; ++k) {
    r.workers.push_back({static_cast<int>(k), r.centre, std::vector<float>(count), std::vector<float>(count), layers});
  }
  std::vector<std::vector<float>> snapshot(workers, std::vector<float>(count));
  std::vector<float> pulled(count);
  std::vector<bool> pending(count, false);  // Late: (snapshot, pulled) of the iteration before
  std::vector<std::vector<float>> pending_snapshot;
  std::vector<float> pending_pulled;
  std::vector<std::int64_t> rounds(plan.groups.size(), 0);
  const auto synchronize = [&](std::size_t g, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      for (std::size_t k = 0; k < workers; ++k) snapshot[k][i] = r.workers[k].weights[i];
      pulled[i] = r.centre[i];
      float sum = 0;
      for (std::size_t place = 0; place < workers; ++place) {
        const std::size_t k = (place + static_cast<std::size_t>(rounds[g])) % workers;
        sum = place == 0 ? snapshot[k][i] : sum + snapshot[k][i];
      }
      r.centre[i] = (1.0F - beta) * r.centre[i] + beta * (sum / static_cast<float>(workers));
    }
    ++rounds[g];
  };
  const auto bounds = [&](const PlanGroup& group) {
    const FloatRange& a = layers[static_cast<std::size_t>(group.first_layer)];
    const FloatRange& b = layers[static_cast<std::size_t>(group.last_layer)];
    return std::pair(static_cast<std::size_t>(a.first), static_cast<std::size_t>(b.first + b.count));
  };
  const auto apply_pending = [&] {
    for (std::size_t i = 0; i < count; ++i) {
      if (!pending[i]) continue;
      for (std::size_t k = 0; k < workers; ++k) {
        r.workers[k].weights[i] -= alpha * (pending_snapshot[k][i] - pending_pulled[i]);
      }
      pending[i] = false;
    }
  };
  for (std::int64_t t = 1; t <= run.iterations; ++t) {
    for (const ToyChange& change : run.changes) {
      if (change.behind + 1 != t) continue;
      plan = ToyPlan(change.shape);
      rounds.assign(plan.groups.size(), 0);
      for (std::size_t g = 0; g < rounds.size(); ++g) {
        rounds[g] = RoundsThrough(plan.phase, plan.period, static_cast<int>(g), t - 1);
      }
    }
    std::vector<bool> synchronizes(count, false);
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
      if (!Synchronizes(plan.phase, plan.period, static_cast<int>(g), t)) continue;
      const auto [from, to] = bounds(plan.groups[g]);
      synchronize(g, from, to);
      std::fill(synchronizes.begin() + static_cast<std::ptrdiff_t>(from),
                synchronizes.begin() + static_cast<std::ptrdiff_t>(to), true);
    }
    for (ToyWorker& w : r.workers) {
      Gradient(w, t);
      SgdStep(w.weights, w.gradients, w.velocity, {.learning_rate = kRate, .momentum = kMomentum, .weight_decay = 0},
              t == 1);
    }
    if (run.options.apply == Apply::kLate) {
      apply_pending();
      pending = synchronizes;
      pending_snapshot = snapshot;
      pending_pulled = pulled;
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        if (!synchronizes[i]) continue;
        for (std::size_t k = 0; k < workers; ++k) r.workers[k].weights[i] -= alpha * (snapshot[k][i] - pulled[i]);
      }
    }
    r.centre_at.push_back(r.centre);
  }
  if (!run.finish) return r;
  apply_pending();
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const auto [from, to] = bounds(plan.groups[g]);
    synchronize(g, from, to);
    for (std::size_t i = from; i < to; ++i) {
      for (std::size_t k = 0; k < workers; ++k) r.workers[k].weights[i] -= alpha * (snapshot[k][i] - pulled[i]);
    }
  }
  return r;
}

using Case = std::tuple<int, int, int, Apply, bool>;  // T, K, S, apply, admission

ToyRun RunOf(const Case& c) {
  ToyRun run;
  run.shape = {.strategy = StrategyType::kInterleavedPS,
               .workers = std::get<1>(c),
               .servers = std::get<2>(c),
               .period = std::get<0>(c),
               .layers = {5, 0, 17, 3, 17000, 1, 9, 0},  // several chunks, layers without parameters
               .layers_per_group = 1};
  run.options.apply = std::get<3>(c);
  run.options.admission = std::get<4>(c);
  run.network.max_delay = std::chrono::microseconds(400);
  run.network.seed = static_cast<std::uint64_t>(std::get<0>(c) * 100 + std::get<1>(c) * 10 + std::get<2>(c));
  run.iterations = 9;
  run.gradient = Gradient;
  run.learning_rate = kRate;
  run.momentum = kMomentum;
  run.evaluation_period = 2;
  return run;
}

class InterleavedReferenceTest : public testing::TestWithParam<Case> {};

TEST_P(InterleavedReferenceTest, AnyDelays_GivesTheEquationsBitForBit) {
  const ToyRun run = RunOf(GetParam());
  const ToyResult result = RunToy(run);
  const Reference reference = RunReference(run);
  for (const Status& status : result.worker_status) ASSERT_TRUE(status.ok()) << status;
  for (const Status& status : result.server_status) ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(result.centre, reference.centre);
  for (std::size_t k = 0; k < result.workers.size(); ++k) {
    EXPECT_EQ(result.workers[k].weights, reference.workers[k].weights) << "worker " << k;
    EXPECT_EQ(result.workers[k].velocity, reference.workers[k].velocity) << "worker " << k;
  }
  // Evaluations: each server gives its part of 2, 4, 6 and 8.
  ASSERT_EQ(result.evaluations.size(), 4 * static_cast<std::size_t>(run.shape.servers));
  std::map<std::int64_t, std::vector<float>> sum;
  for (const auto& [iteration, weights] : result.evaluations) {
    auto& whole = sum.try_emplace(iteration, weights.size()).first->second;
    AddInto(whole, weights);
  }
  for (const auto& [iteration, weights] : sum) {
    EXPECT_EQ(weights, reference.centre_at[static_cast<std::size_t>(iteration)]) << "iteration " << iteration;
  }
}

class InterleavedPauseTest : public testing::TestWithParam<Case> {};

TEST_P(InterleavedPauseTest, PausedAndResumed_GivesTheSameBitsAsWithoutAPause) {
  ToyRun run = RunOf(GetParam());
  const Reference reference = RunReference(run);
  run.evaluation_period = 0;
  run.finish = false;
  run.iterations = 4;
  const ToyResult before = RunToy(run);
  for (const Status& status : before.worker_status) ASSERT_TRUE(status.ok()) << status;
  run.finish = true;
  run.first_iteration = 5;
  run.iterations = 5;
  run.resume_workers = before.workers;
  run.resume_planes = before.planes;
  run.resume_centre = before.centre;
  const ToyResult after = RunToy(run);
  for (const Status& status : after.worker_status) ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(after.centre, reference.centre);
  for (std::size_t k = 0; k < after.workers.size(); ++k) {
    EXPECT_EQ(after.workers[k].weights, reference.workers[k].weights) << "worker " << k;
  }
}

// Behind iteration 3 to another period with the layers in groups of two, behind 6 back to groups of one, and behind 7
// to groups of three that all synchronize in each iteration.
ToyRun ChangingRunOf(const Case& c) {
  ToyRun run = RunOf(c);
  run.evaluation_period = 0;
  const auto shape = [&](int period, int layers_per_group) {
    ToyShape next = run.shape;
    next.period = period;
    next.layers_per_group = layers_per_group;
    return next;
  };
  run.changes = {{3, shape(run.shape.period + 1, 2)}, {6, shape(2, 1)}, {7, shape(1, 3)}};
  return run;
}

class InterleavedChangeTest : public testing::TestWithParam<Case> {};

TEST_P(InterleavedChangeTest, PlanChangesUnderDelays_GivesTheEquationsOfEachPlanBitForBit) {
  const ToyRun run = ChangingRunOf(GetParam());
  const Reference reference = RunReference(run);
  const ToyResult result = RunToy(run);
  for (const Status& status : result.worker_status) ASSERT_TRUE(status.ok()) << status;
  for (const Status& status : result.server_status) ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(result.centre, reference.centre);
  for (std::size_t k = 0; k < result.workers.size(); ++k) {
    EXPECT_EQ(result.workers[k].weights, reference.workers[k].weights) << "worker " << k;
    EXPECT_EQ(result.workers[k].velocity, reference.workers[k].velocity) << "worker " << k;
  }
}

TEST_P(InterleavedChangeTest, NoGradients_ConservesTheSumAcrossChanges) {
  ToyRun run = ChangingRunOf(GetParam());
  run.gradient = [](ToyWorker&, std::int64_t) { return 0; };
  // Different weights, so that there is something to exchange; no step changes them.
  run.resume_workers = ToyWorkers(static_cast<std::size_t>(run.shape.workers), {}, run.shape.layers);
  const std::int64_t count = ToyCount(run.shape.layers);
  std::vector<double> before(static_cast<std::size_t>(count));
  const std::vector<float> centre = ToyWeights(count, 7);
  for (std::size_t i = 0; i < before.size(); ++i) before[i] = centre[i];
  for (ToyWorker& worker : run.resume_workers) {
    worker.weights = ToyWeights(count, static_cast<std::uint32_t>(20 + worker.index));
    worker.gradients.assign(worker.weights.size(), 0);
    worker.velocity = worker.gradients;
    for (std::size_t i = 0; i < before.size(); ++i) before[i] += static_cast<double>(worker.weights[i]);
  }
  const ToyResult result = RunToy(run);
  for (const Status& status : result.worker_status) ASSERT_TRUE(status.ok()) << status;
  for (std::size_t i = 0; i < before.size(); ++i) {
    double after = static_cast<double>(result.centre[i]);
    for (const ToyWorker& worker : result.workers) after += static_cast<double>(worker.weights[i]);
    ASSERT_NEAR(after, before[i], 1e-5) << "float " << i;
  }
}

std::string CaseName(const testing::TestParamInfo<Case>& info) {
  const auto [period, workers, servers, apply, admission] = info.param;
  std::ostringstream name;
  name << "T" << period << "K" << workers << "S" << servers << (apply == Apply::kLate ? "Late" : "Deadline")
       << (admission ? "Admission" : "Free");
  return name.str();
}

INSTANTIATE_TEST_SUITE_P(Cases, InterleavedReferenceTest,
                         testing::Combine(testing::Values(1, 3, 4), testing::Values(2, 3, 4), testing::Values(1, 2),
                                          testing::Values(Apply::kDeadline, Apply::kLate), testing::Bool()),
                         CaseName);

INSTANTIATE_TEST_SUITE_P(Cases, InterleavedPauseTest,
                         testing::Combine(testing::Values(1, 3, 4), testing::Values(3), testing::Values(2),
                                          testing::Values(Apply::kDeadline, Apply::kLate), testing::Values(true)),
                         CaseName);

INSTANTIATE_TEST_SUITE_P(Cases, InterleavedChangeTest,
                         testing::Combine(testing::Values(1, 3, 4), testing::Values(3), testing::Values(1, 3),
                                          testing::Values(Apply::kDeadline, Apply::kLate), testing::Bool()),
                         CaseName);

}  // namespace
}  // namespace weft
