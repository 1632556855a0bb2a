#include "coordinator/planner/auto_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/plan/json.h"
#include "common/plan/names.h"
#include "coordinator/planner/planner.h"
#include "tests/coordinator/planner/timelines.h"

namespace weft {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

// 20 layers, 100 ms of compute.
PlanRequest Request(std::int64_t layer_bytes, int workers, double us_per_byte) {
  PlanRequest request;
  request.strategy = StrategyType::kAuto;
  request.timeline = UniformTimeline(std::vector<std::int64_t>(20, layer_bytes), 1600, 3400);
  request.workers = workers;
  request.links = {{{50, us_per_byte}}};
  request.peer_links = {{50, us_per_byte}};
  return request;
}

Plan Made(const PlanRequest& request) {
  Result<Plan> plan = MakePlan(request);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? *std::move(plan) : Plan{};
}

TEST(MakeAutoPlan, ComputeBound_TakesTheLeastStale) {
  const PlanRequest request = Request(10'000, 4, 0.001);
  const Plan plan = Made(request);
  EXPECT_EQ(plan.strategy, StrategyType::kAllReduce);
  EXPECT_EQ(Staleness(plan, request), 0);
  EXPECT_THAT(plan.reason, StartsWith("AllReduce: 100"));
  EXPECT_THAT(plan.reason, HasSubstr("; the runner-up, "));
  EXPECT_EQ(plan.reason.find('\n'), std::string::npos);
  EXPECT_TRUE(ParsePlan(PlanToJson(plan)).ok());
}

TEST(MakeAutoPlan, SlowLinks_CommunicatesLessWithinTheStaleness) {
  PlanRequest request = Request(100'000, 8, 0.1);
  const Plan eight = Made(request);
  EXPECT_GT(Staleness(eight, request), 1);
  EXPECT_LE(Staleness(eight, request), 8);
  request.max_staleness = 2;
  const Plan two = Made(request);
  EXPECT_LE(Staleness(two, request), 2);
  EXPECT_GT(two.iteration_us, eight.iteration_us);
  request.strategy = StrategyType::kAllReduce;
  EXPECT_GT(Made(request).iteration_us, 1.5 * eight.iteration_us);
}

TEST(MakeAutoPlan, AnyLinks_LosesToNoCandidateByMoreThanANearTie) {
  for (const double us_per_byte : {0.0005, 0.004, 0.03, 0.2, 1.0}) {
    for (const int workers : {2, 5, 8}) {
      PlanRequest request = Request(60'000, workers, us_per_byte);
      const Plan plan = Made(request);
      for (const StrategyType other :
           {StrategyType::kAllReduce, StrategyType::kMergedPS, StrategyType::kLocalSGD, StrategyType::kDPSGD}) {
        request.strategy = other;
        request.peers.local_steps = 8;
        EXPECT_LE(plan.iteration_us, (1 + kNearTie + 1e-9) * Made(request).iteration_us)
            << Name(plan.strategy) << " against " << Name(other) << ", " << workers << " workers, " << us_per_byte;
      }
    }
  }
}

TEST(MakeAutoPlan, NoServers_LeavesOutWhatNeedsThem) {
  PlanRequest request = Request(100'000, 8, 0.1);
  request.servers = 0;
  EXPECT_FALSE(UsesParameterServers(Made(request).strategy));
  EXPECT_THAT(Made(request).reason, testing::Not(HasSubstr("PS")));
  // The other way round: links to servers only.
  request.servers = 1;
  request.peer_links = {};
  const Plan plan = Made(request);
  EXPECT_TRUE(UsesParameterServers(plan.strategy));
  EXPECT_LE(plan.period, 8);
  request.links = {};
  EXPECT_EQ(MakePlan(request).status().message(), "links: Auto has neither those to servers nor those of peers");
}

TEST(MakeAutoPlan, FastServerLinksAndSlowPeers_TakesTheServers) {
  PlanRequest request = Request(100'000, 4, 0.0001);
  request.peer_links = {{5000, 0.5}};
  const Plan plan = Made(request);
  EXPECT_THAT(plan.strategy, AnyOf(StrategyType::kMergedPS, StrategyType::kInterleavedPS));
}

TEST(MakeAutoPlan, ServersThatAreNotUsed_StayIdle) {
  PlanRequest request = Request(10'000, 4, 0.001);
  request.servers = 3;
  const Plan plan = Made(request);
  EXPECT_EQ(plan.strategy, StrategyType::kAllReduce);
  EXPECT_EQ(plan.servers, 3);
  EXPECT_TRUE(plan.shards.empty());
}

TEST(MakeAutoPlan, OneWorker_ExchangesNothing) {
  PlanRequest request = Request(10'000, 1, 0.001);
  request.peer_links = {};
  const Plan plan = Made(request);
  EXPECT_EQ(plan.iteration_us, plan.compute_us);
  EXPECT_EQ(plan.reason, "One worker exchanges nothing.");
}

TEST(MakeAutoPlan, StalenessBelowOne_IsRefused) {
  PlanRequest request = Request(10'000, 2, 0.001);
  request.max_staleness = 0;
  EXPECT_EQ(MakePlan(request).status().message(), "max staleness: 0 is below 1");
}

}  // namespace
}  // namespace weft
