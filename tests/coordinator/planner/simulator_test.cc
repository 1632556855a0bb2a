#include "coordinator/planner/simulator.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "coordinator/planner/planner.h"
#include "tests/coordinator/planner/timelines.h"

namespace weft {
namespace {

struct Case {
  PlanRequest request;
  Plan plan;
};

Case CaseOf(PlanRequest request) {
  const Result<Plan> plan = MakePlan(request);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return {std::move(request), *plan};
}

SimulationResult Simulated(const Case& input, const SimulationOptions& options = {}) {
  Result<SimulationResult> result = Simulate(input.plan, input.request, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return *std::move(result);
}

PlanRequest EqualLayers(int layers, std::int64_t bytes, int workers, int servers, const Link& link) {
  PlanRequest request;
  request.timeline = UniformTimeline(std::vector<std::int64_t>(static_cast<std::size_t>(layers), bytes), 1600, 3400);
  request.workers = workers;
  request.servers = servers;
  request.links = {{link}};
  request.options.fusion = Fusion::kPerLayer;
  request.options.exact_fusion = true;
  return request;
}

// One layer, two workers: both push 1000 bytes at 20 us through a port they share (5 + 20 us) and get as much back.
TEST(Simulate, BulkSynchronousByHand_MatchesTheRecurrence) {
  PlanRequest request;
  request.timeline = UniformTimeline({1000}, 10, 20);
  request.workers = 2;
  request.links = {{{5, 0.01}}};
  request.strategy = StrategyType::kBulkSynchronousPS;
  const SimulationResult result = Simulated(CaseOf(request));
  EXPECT_NEAR(result.stall_us, 50, 0.01);
  EXPECT_NEAR(result.iteration_us, 80, 0.01);
  EXPECT_NEAR(result.group_stall_us[0], 50, 0.01);
  EXPECT_EQ(result.bytes_per_iteration, 2000);
}

// Three workers, one group, T = 1, asked for at the end of backward. No barrier holds the workers together, so after
// the first rounds each comes a transfer behind the one before it, and waits for a request, a grant and its own
// transfer.
TEST(Simulate, InterleavedByHand_ServesOneWorkerAtATime) {
  PlanRequest request = EqualLayers(1, 1000, 3, 1, {5, 0.1});
  request.options.period = 1;
  request.options.window = WindowRule::kAfterBackward;
  const SimulationResult result = Simulated(CaseOf(request));
  EXPECT_NEAR(result.group_stall_us[0], 10 + 105, 0.01);
  EXPECT_EQ(result.concurrent_share, 0);
}

// The cost model starts all workers' iterations together, which is the worst case for slots that end late: there it may
// say more than the simulation, never less.
TEST(Simulate, EvenWorkers_AgreesWithTheCostModel) {
  std::mt19937_64 random(17);
  for (int round = 0; round < 60; ++round) {
    PlanRequest request;
    request.timeline = RandomTimeline(&random, 16);
    request.workers = 2 + round % 6;
    request.servers = 1;
    request.links = {{{.latency_us = 0.1, .us_per_byte = round % 4 == 0 ? 1e-2 : 1e-3}}};
    request.options.period = 1 + round % 5;
    request.options.window = round % 2 == 0 ? WindowRule::kWholeIteration : WindowRule::kAfterBackward;
    request.strategy = round % 3 == 0   ? StrategyType::kMergedPS
                       : round % 3 == 1 ? StrategyType::kBulkSynchronousPS
                                        : StrategyType::kInterleavedPS;
    const Case input = CaseOf(request);
    const SimulationResult result = Simulated(input);
    EXPECT_LE(result.iteration_us, 1.05 * input.plan.iteration_us) << "round " << round;
    if (request.options.window == WindowRule::kWholeIteration || request.strategy != StrategyType::kInterleavedPS) {
      EXPECT_GE(result.iteration_us, 0.85 * input.plan.iteration_us) << "round " << round;
    }
    EXPECT_NEAR(result.iteration_us, result.compute_us + result.stall_us, 1e-6 * result.iteration_us);
  }
}

TEST(Simulate, InterleavedWithinTheLink_CostsNothingButCompute) {
  // The design's claim: 8 workers, 20 groups, MergedPS at 4 times compute, T = 5 or more.
  PlanRequest request = EqualLayers(20, 100'000, 8, 1, {50, 0.0234});
  request.strategy = StrategyType::kMergedPS;
  request.options.fusion = Fusion::kOptimal;
  const SimulationResult merged = Simulated(CaseOf(request));
  request.strategy = StrategyType::kInterleavedPS;
  request.options.fusion = Fusion::kPerLayer;
  for (const int period : {5, 8, 10}) {
    request.options.period = period;
    const Case input = CaseOf(request);
    const SimulationResult both = Simulated(input);
    EXPECT_LE(both.iteration_us, 1.02 * both.compute_us) << period;
    EXPECT_LE(both.concurrent_share, 0.05);
    EXPECT_NEAR(both.bytes_per_iteration, merged.bytes_per_iteration / period, 1);
  }
  EXPECT_GT(merged.iteration_us, 3 * merged.compute_us);
}

TEST(Simulate, LinkBound_IterationIsTheTimeOnTheLink) {
  PlanRequest request = EqualLayers(20, 100'000, 8, 1, {0, 0.08});
  request.options.period = 4;
  const SimulationResult result = Simulated(CaseOf(request));
  const double on_link = 8 * 5 * 100'000 * 0.08;
  EXPECT_NEAR(result.iteration_us, on_link, 0.02 * on_link);
  EXPECT_GT(result.link_use, 0.97);
  EXPECT_NEAR(result.peak_bytes_per_second, 1e6 / 0.08, 1e6 / 0.08 * 0.01);
}

TEST(Simulate, TwoServersOnABusyLink_HalveTheTime) {
  PlanRequest request = EqualLayers(20, 100'000, 8, 1, {0, 0.08});
  request.options.period = 1;
  const double one = Simulated(CaseOf(request)).iteration_us;
  request.servers = 2;
  const double two = Simulated(CaseOf(request)).iteration_us;
  EXPECT_LE(two, 0.6 * one);
}

TEST(Simulate, WithoutAdmission_UnevenSlotsOverlap) {
  PlanRequest request = EqualLayers(4, 100'000, 8, 1, {0, 0.08});
  request.options.period = 1;
  Case input = CaseOf(request);
  const SimulationResult admitted = Simulated(input);
  input.request.options.admission = false;
  const SimulationResult open = Simulated(input);
  EXPECT_GT(open.concurrent_share, 0.5);
  EXPECT_EQ(admitted.concurrent_share, 0);
  EXPECT_NEAR(open.iteration_us, admitted.iteration_us, 0.2 * admitted.iteration_us);
}

TEST(Simulate, OneWorkerTwiceAsSlow_HoldsAllToItsPace) {
  PlanRequest request = EqualLayers(8, 1000, 4, 1, {1, 0.001});
  request.options.period = 4;
  SimulationOptions options;
  options.slowdown = {1, 2, 1, 1};
  const SimulationResult result = Simulated(CaseOf(request), options);
  EXPECT_NEAR(result.iteration_us, 2 * result.compute_us, 0.1 * result.compute_us);
  EXPECT_GT(result.staleness_wait_us, 0);
}

TEST(Simulate, Jitter_IsSeededAndCostsTime) {
  PlanRequest request = EqualLayers(8, 10'000, 4, 1, {10, 0.01});
  request.strategy = StrategyType::kMergedPS;
  const Case input = CaseOf(request);
  SimulationOptions options;
  options.compute_jitter = 0.2;
  const double first = Simulated(input, options).iteration_us;
  EXPECT_EQ(Simulated(input, options).iteration_us, first);
  options.seed = 2;
  EXPECT_NE(Simulated(input, options).iteration_us, first);
  EXPECT_GT(first, Simulated(input).iteration_us);
}

TEST(Simulate, LateApply_StallsNoMoreThanDeadline) {
  PlanRequest request = EqualLayers(10, 100'000, 4, 1, {10, 0.02});
  request.options.period = 3;
  request.options.window = WindowRule::kAfterBackward;
  const double deadline = Simulated(CaseOf(request)).stall_us;
  request.options.apply = Apply::kLate;
  const double late = Simulated(CaseOf(request)).stall_us;
  EXPECT_LE(late, deadline);
  EXPECT_GT(deadline, 0);
}

TEST(Simulate, OneWorker_ExchangesNothing) {
  const SimulationResult result = Simulated(CaseOf(EqualLayers(3, 4000, 1, 1, {10, 0.02})));
  EXPECT_NEAR(result.iteration_us, result.compute_us, 1e-6);
  EXPECT_EQ(result.bytes_per_iteration, 0);
  EXPECT_EQ(result.link_use, 0);
}

TEST(Simulate, AnyPlan_EndsWithoutDeadlock) {
  std::mt19937_64 random(99);
  for (int round = 0; round < 120; ++round) {
    PlanRequest request;
    request.timeline = RandomTimeline(&random, 12);
    request.workers = 1 + round % 5;
    request.servers = 1 + round % 4;
    request.links = {{{.latency_us = 5, .us_per_byte = round % 7 == 0 ? 0.0 : 0.002}}};
    request.options.period = 1 + round % 6;
    request.options.apply = round % 2 == 0 ? Apply::kDeadline : Apply::kLate;
    request.options.admission = round % 3 != 0;
    request.strategy = round % 4 == 0 ? StrategyType::kMergedPS : StrategyType::kInterleavedPS;
    SimulationOptions options;
    options.compute_jitter = 0.3;
    options.iterations = 10;
    const SimulationResult result = Simulated(CaseOf(request), options);
    EXPECT_GT(result.iteration_us, 0.3 * result.compute_us);
    EXPECT_LE(result.link_use, 1 + 1e-9);
  }
}

}  // namespace
}  // namespace weft
