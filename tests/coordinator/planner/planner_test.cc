#include "coordinator/planner/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "common/plan/json.h"
#include "coordinator/planner/fusion.h"
#include "tests/coordinator/planner/timelines.h"

namespace weft {
namespace {

using testing::HasSubstr;

PlanRequest Request(Timeline timeline, int workers, int servers, const Link& link) {
  PlanRequest request;
  request.timeline = std::move(timeline);
  request.workers = workers;
  request.servers = servers;
  request.links = {{link}};
  return request;
}

Plan Made(const PlanRequest& request) {
  Result<Plan> plan = MakePlan(request);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? *std::move(plan) : Plan{};
}

std::string ErrorOf(const PlanRequest& request) {
  const Result<Plan> plan = MakePlan(request);
  EXPECT_FALSE(plan.ok());
  return plan.ok() ? "" : plan.status().message();
}

// Bytes that each server receives from one worker in each phase.
std::map<int, std::vector<std::int64_t>> PhaseLoads(const Plan& plan) {
  std::map<int, std::vector<std::int64_t>> loads;
  for (const Shard& shard : plan.shards) {
    const int phase = plan.groups[static_cast<std::size_t>(shard.group)].phase;
    auto& load = loads[phase];
    load.resize(static_cast<std::size_t>(plan.servers));
    load[static_cast<std::size_t>(shard.server)] += 4 * shard.count;
  }
  return loads;
}

TEST(MakePlan, WorkedExample_IsExact) {
  // The paper's: nine groups of 10 ms, T = 3, 4 workers.
  PlanRequest request = Request(UniformTimeline(std::vector<std::int64_t>(9, 4000), 5000, 10000), 4, 1, {0, 0.008});
  request.options.period = 3;
  request.options.fusion = Fusion::kPerLayer;
  request.options.window = WindowRule::kAfterBackward;
  request.options.tail = Tail::kHalf;
  const Plan plan = Made(request);
  ASSERT_EQ(plan.groups.size(), 9u);
  for (std::size_t n = 0; n <= 6; ++n) EXPECT_EQ(plan.groups[n].slot_us, 7500);
  EXPECT_EQ(plan.groups[7].slot_us, 3750);
  EXPECT_EQ(plan.groups[8].slot_us, 0);
  EXPECT_EQ(plan.groups[4].window_from_us, 50000);
  EXPECT_EQ(plan.groups[4].window_to_us, 80000);
  EXPECT_EQ(plan.groups[0].layers, std::vector<std::string>{"layer8"});
  EXPECT_EQ(plan.groups[2].phase, 1);
  EXPECT_EQ(plan.groups[1].phase, 2);
  EXPECT_EQ(plan.groups[0].phase, 0);
  EXPECT_EQ(plan.groups[0].transfer_us, 32);
  EXPECT_EQ(plan.compute_us, 135000);
  // All four send the last group at the end of backward, and its forward comes first: 4 transfers of 32 us.
  EXPECT_DOUBLE_EQ(plan.groups[8].stall_us, 128);
  for (std::size_t n = 0; n < 8; ++n) EXPECT_EQ(plan.groups[n].stall_us, 0) << n;
  EXPECT_DOUBLE_EQ(plan.iteration_us, 135000 + 128.0 / 3);
}

TEST(MakePlan, RandomTimelines_GivePlansThatReadBackAndShardEveryFloatOnce) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    PlanRequest request = Request(RandomTimeline(&random, 30), 1 + round % 7, 1 + round % 4, {20, 0.001});
    request.options.period = round % 6;
    request.options.window = round % 2 == 0 ? WindowRule::kWholeIteration : WindowRule::kAfterBackward;
    request.options.apply = round % 3 == 0 ? Apply::kLate : Apply::kDeadline;
    request.options.phase = round % 5 == 0 ? PhaseRule::kFormula : PhaseRule::kFigure;
    const Plan plan = Made(request);
    const Result<Plan> read = ParsePlan(PlanToJson(plan));
    ASSERT_TRUE(read.ok()) << read.status();
    std::int64_t floats = 0;
    for (const Shard& shard : plan.shards) floats += shard.count;
    EXPECT_EQ(floats * 4, request.timeline.total_bytes());
    EXPECT_GE(plan.iteration_us, plan.compute_us);
    EXPECT_LE(plan.link_use, 1);
    EXPECT_EQ(plan.reason.find('\n'), std::string::npos);
  }
}

TEST(MakePlan, ExactOptimal_IsTheRecurrenceAtEveryPeriod) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 100; ++round) {
    PlanRequest request = Request(RandomTimeline(&random, 12), 4, 2, {30, 0.002});
    request.options.period = 1 + round % 5;
    request.options.exact_fusion = true;
    const std::vector<LayerRun> runs = Fuse(Fusion::kOptimal, request.timeline, {30, 0.002 * 2});
    const Plan plan = Made(request);
    ASSERT_EQ(plan.groups.size(), runs.size());
    for (std::size_t n = 0; n < runs.size(); ++n) EXPECT_EQ(plan.groups[n].first_layer, runs[n].first_layer);
  }
}

TEST(MakePlan, PeriodChosen_IsTheSmallestWithinTheLimits) {
  // 20 layers of 1 MB at 0.008 us a byte: 8 workers send 1.28 s of transfers for 100 ms of compute. T must be at least
  // 1.28 / (0.9 * 0.1) = 14.2.
  PlanRequest request =
      Request(UniformTimeline(std::vector<std::int64_t>(20, 1'000'000), 1600, 3400), 8, 1, {50, 0.008});
  const Plan chosen = Made(request);
  EXPECT_GE(chosen.period, 15);
  EXPECT_LE(chosen.period, 20);
  EXPECT_LE(chosen.link_use, kMaxLinkUse);
  EXPECT_LE(chosen.iteration_us, chosen.compute_us * (1 + kMaxStallShare));
  EXPECT_THAT(chosen.reason, HasSubstr("smallest period"));
  for (int period = 1; period < chosen.period; ++period) {
    request.options.period = period;
    const Plan shorter = Made(request);
    EXPECT_TRUE(shorter.link_use > kMaxLinkUse || shorter.iteration_us > shorter.compute_us * (1 + kMaxStallShare))
        << period;
  }
}

TEST(MakePlan, OptimalOnASlowLink_StillSpreadsOverThePhases) {
  // The recurrence alone merges nearly everything, and one of the eight phases would carry it all.
  PlanRequest request = Request(UniformTimeline(std::vector<std::int64_t>(50, 400'000), 700, 1300), 8, 1, {100, 0.008});
  request.options.period = 16;
  const Plan plan = Made(request);
  EXPECT_NE(plan.fusion, Fusion::kOptimal);
  EXPECT_LE(plan.iteration_us, plan.compute_us * 1.02);
  request.options.exact_fusion = true;
  EXPECT_GT(Made(request).iteration_us, plan.iteration_us * 1.3);
}

TEST(MakePlan, NoPeriodReachesTheLimits_TakesTheBestAndSaysSo) {
  const PlanRequest request = Request(UniformTimeline({40'000'000, 40'000'000}, 100, 200), 4, 1, {100, 0.08});
  const Plan plan = Made(request);
  EXPECT_THAT(plan.reason, HasSubstr("No period up to 32"));
  EXPECT_THAT(plan.reason, HasSubstr("distributing does not pay"));
}

TEST(MakePlan, ComputeBound_SaysThatMoreServersGainNothing) {
  const Plan plan = Made(Request(UniformTimeline({4000, 4000, 4000}, 10000, 20000), 4, 1, {50, 0.008}));
  EXPECT_EQ(plan.period, 1);
  EXPECT_THAT(plan.reason, HasSubstr("compute is the limit: more servers would gain nothing"));
}

TEST(MakePlan, OneWorker_ExchangesNothing) {
  PlanRequest request = Request(UniformTimeline({4000, 4000}, 10, 20), 1, 1, {50, 0.008});
  const Plan plan = Made(request);
  EXPECT_EQ(plan.period, 1);
  EXPECT_EQ(plan.iteration_us, plan.compute_us);
  EXPECT_THAT(plan.reason, HasSubstr("exchanges nothing"));
}

TEST(MakePlan, TwoServers_AreNeverSlowerThanOneAndBalancedInEachPhase) {
  std::mt19937_64 random(23);
  for (int round = 0; round < 300; ++round) {
    PlanRequest request = Request(RandomTimeline(&random, 24), 2 + round % 7, 1, {1, 0.002});
    request.options.period = 1 + round % 5;
    request.strategy = round % 3 == 0   ? StrategyType::kMergedPS
                       : round % 3 == 1 ? StrategyType::kBulkSynchronousPS
                                        : StrategyType::kInterleavedPS;
    const double one = Made(request).iteration_us;
    request.servers = 2;
    const Plan two = Made(request);
    // Of plans within 0.1 % of compute of one another the one with fewer groups is taken.
    EXPECT_LE(two.iteration_us, one + 0.001 * two.compute_us) << "round " << round;
    for (const auto& [phase, load] : PhaseLoads(two)) {
      const double share = static_cast<double>(load[0] + load[1]) / 2;
      // Within 5 %, or what is above costs less than the latency of one more transfer.
      const double busiest_us_per_byte = 0.002 * std::max(1.0, request.workers / 2.0);
      EXPECT_LE(static_cast<double>(std::max(load[0], load[1])),
                std::max(1.05 * share, share + 1 / busiest_us_per_byte) + 8)
          << "round " << round << " phase " << phase;
    }
  }
}

TEST(MakePlan, AGroupTooLargeForOneServer_IsSplit) {
  PlanRequest request = Request(UniformTimeline({400'000, 4'000'000}, 1000, 2000), 4, 4, {50, 0.008});
  request.options.period = 1;
  const Plan plan = Made(request);
  const auto loads = PhaseLoads(plan);
  ASSERT_EQ(loads.size(), 1u);
  for (const std::int64_t load : loads.at(0)) EXPECT_NEAR(static_cast<double>(load), 1'100'000, 8);
}

TEST(MakePlan, SynchronousStrategies_HavePeriodOneAndNoSlots) {
  PlanRequest request = Request(UniformTimeline({4000, 0, 4000}, 10, 20), 2, 1, {50, 0.008});
  request.options.period = 7;
  request.strategy = StrategyType::kBulkSynchronousPS;
  const Plan bulk = Made(request);
  EXPECT_EQ(bulk.period, 1);
  EXPECT_EQ(bulk.groups.size(), 2u);
  EXPECT_EQ(bulk.groups[0].slot_us, 0);
  EXPECT_EQ(bulk.groups[0].window_from_us, 20);
  EXPECT_GT(bulk.iteration_us, bulk.compute_us);
  request.strategy = StrategyType::kMergedPS;
  EXPECT_EQ(Made(request).period, 1);
  EXPECT_EQ(Made(request).groups.size(), 1u);
}

TEST(MakePlan, MergedByHand_MatchesTheRecurrence) {
  // Gradients at 20 and 40, c = 0.01 * 2 * 1000 = 20 each behind a latency of 5. Pushes move from 25 to 45 and from 45
  // to 65, replies from 50 to 70 and from 70 to 90. Layer 0's forward waits from 40 to 90, layer 1's comes at 100.
  PlanRequest request = Request(UniformTimeline({1000, 1000}, 10, 20), 2, 1, {5, 0.01});
  request.strategy = StrategyType::kBulkSynchronousPS;
  const Plan plan = Made(request);
  EXPECT_DOUBLE_EQ(plan.groups[1].stall_us, 50);
  EXPECT_DOUBLE_EQ(plan.groups[0].stall_us, 0);
  EXPECT_DOUBLE_EQ(plan.groups[0].window_to_us, 70);
  EXPECT_DOUBLE_EQ(plan.iteration_us, 60 + 50);
}

TEST(MakePlan, MergedGroupsThatMeetOnTheLink_ShareIt) {
  // Backward takes 10 a layer: pushes of 20 begin at 10 and 20. The first has 10 left when the second comes, and ends
  // at 40, the second at 50; the replies of 20 begin then: the first has 10 left at 50, and ends at 70, the second
  // at 80.
  PlanRequest request = Request(UniformTimeline({1000, 1000}, 10, 10), 2, 1, {0, 0.01});
  request.strategy = StrategyType::kBulkSynchronousPS;
  const Plan plan = Made(request);
  EXPECT_DOUBLE_EQ(plan.groups[0].window_to_us, 70);
  EXPECT_DOUBLE_EQ(plan.groups[1].window_to_us, 80);
}

TEST(MakePlan, BadRequest_NamesPlaceValueAndRule) {
  const PlanRequest good = Request(UniformTimeline({4000}, 10, 20), 2, 1, {50, 0.008});
  PlanRequest bad = good;
  bad.workers = 0;
  EXPECT_EQ(ErrorOf(bad), "workers: 0 is below 1");
  bad = good;
  bad.servers = 5000;
  EXPECT_EQ(ErrorOf(bad), "servers: 5000 is above 1024");
  bad = good;
  bad.options.period = -1;
  EXPECT_EQ(ErrorOf(bad), "period: -1 is below 0");
  bad = good;
  bad.timeline.layers[0].bytes = 0;
  EXPECT_EQ(ErrorOf(bad), "layers: none has parameters");
  bad = good;
  bad.timeline = UniformTimeline({4000}, 0, 0);
  EXPECT_EQ(ErrorOf(bad), "layers: compute takes no time");
  bad = good;
  bad.links = {};
  EXPECT_EQ(ErrorOf(bad), "links: 0 rows for 2 workers");
  bad = good;
  bad.strategy = StrategyType::kSwarm;
  EXPECT_EQ(ErrorOf(bad), "peer links: 0 for 2 workers");
  bad.peer_links = {{50, 0.008}};
  bad.peers.local_steps = 0;
  EXPECT_EQ(ErrorOf(bad), "local steps: 0 is below 1");
  bad.peers.local_steps = 1;
  bad.peers.quantization_bits = 1;
  EXPECT_EQ(ErrorOf(bad), "quantization bits: 1 is below 2");
  bad = good;
  bad.servers = 0;
  EXPECT_EQ(ErrorOf(bad), "servers: 0 is below 1");
}

TEST(MakePlan, ExtremePeriods_Work) {
  PlanRequest request = Request(UniformTimeline({4000, 8000, 12000}, 10, 20), 3, 2, {50, 0.008});
  for (const int period : {1, 2, 3, 4, 1'000'000}) {
    request.options.period = period;
    for (const WindowRule window : {WindowRule::kAfterBackward, WindowRule::kWholeIteration}) {
      request.options.window = window;
      EXPECT_EQ(Made(request).period, period);
    }
  }
}

}  // namespace
}  // namespace weft
