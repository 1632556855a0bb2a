// When a run plans again, and when noise must not make it.
#include "coordinator/planner/drift.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>

#include "tests/coordinator/planner/timelines.h"

namespace weft {
namespace {

using testing::HasSubstr;

// 10 layers of 100 kB, or as many as given, 100 ms of compute, 4 workers.
PlanRequest RequestAt(double us_per_byte, StrategyType strategy = StrategyType::kInterleavedPS, int servers = 1,
                      std::int64_t layer_bytes = 100'000) {
  PlanRequest request;
  request.strategy = strategy;
  request.timeline = UniformTimeline(std::vector<std::int64_t>(10, layer_bytes), 3000, 7000);
  request.workers = 4;
  request.servers = servers;
  request.links = {{{.latency_us = 100, .us_per_byte = us_per_byte}}};
  request.peer_links = {{.latency_us = 100, .us_per_byte = us_per_byte}};
  return request;
}

constexpr double kFast = 0.08;  // us a byte: 100 Mb/s

// What all that is measured is multiplied by, and with: link of worker to server, computing.
struct World {
  std::function<double(int worker, int server)> link = [](int, int) { return 1.0; };
  std::function<double()> compute = [] { return 1.0; };
  double stall_us = 0;
};

// A run of `request` as its plan says, with the world's changes.
class ToldRun {
 public:
  explicit ToldRun(const PlanRequest& request)
      : request_(request), plan_(MakePlan(request).value()), monitor(request, plan_) {}

  // All workers' next iteration.
  void Step(const World& world) {
    ++iteration;
    for (int worker = 0; worker < plan_.workers; ++worker) {
      MeasuredIteration told{.worker = worker,
                             .iteration = iteration,
                             .iteration_us = plan_.compute_us * world.compute() + world.stall_us,
                             .stall_us = world.stall_us,
                             .transfers = {}};
      for (const Shard& shard : plan_.shards) AddTransfer(shard, world, &told);
      if (plan_.shards.empty()) {
        for (const PlanGroup& group : plan_.groups) {
          told.transfers.push_back(
              {group.index, 0, static_cast<double>(group.bytes), group.transfer_us * world.link(worker, 0)});
        }
      }
      monitor.Add(told);
    }
  }
  // Iterations until it is due; `most`: it never was.
  int StepsUntilDue(const World& world, int most) {
    for (int steps = 0; steps < most; ++steps) {
      if (monitor.due()) return steps;
      Step(world);
    }
    return most;
  }
  const Plan& plan() const { return plan_; }
  void Take(Plan plan) {
    plan.from_iteration = iteration + 1;
    plan_ = plan;
    monitor.Rebase(std::move(plan));
  }

 private:
  void AddTransfer(const Shard& shard, const World& world, MeasuredIteration* told) const {
    const PlanGroup& group = plan_.groups[static_cast<std::size_t>(shard.group)];
    const double bytes = 4.0 * static_cast<double>(shard.count);
    const double changed = world.link(told->worker, shard.server);
    const Link& link = request_.links[0][0];
    double us = (link.latency_us + link.us_per_byte * bytes) * changed;
    if (plan_.strategy != StrategyType::kInterleavedPS) {
      us = (group.window_to_us - group.window_from_us) * changed + told->worker * 900;  // waits for those behind
    } else if (!Synchronizes(plan_.phase, plan_.period, group.index, iteration)) {
      return;
    }
    told->transfers.push_back({group.index, shard.server, bytes, us});
  }

  PlanRequest request_;
  Plan plan_;

 public:
  DriftMonitor monitor;
  std::int64_t iteration = 0;
};

World Links(double factor) {
  World world;
  world.link = [factor](int, int) { return factor; };
  return world;
}

TEST(DriftTest, LinkHalved_IsDueWithinSixtyIterationsAndGetsALongerPeriod) {
  ToldRun run(RequestAt(kFast));
  for (int i = 0; i < 200; ++i) run.Step({});
  EXPECT_NEAR(run.monitor.drift(), 0, 1e-9);
  World slow = Links(2);
  slow.stall_us = 80'000;  // the old period is too short now
  EXPECT_LE(run.StepsUntilDue(slow, 1000), 58);
  const PlanProposal proposal = run.monitor.Propose().value();
  ASSERT_TRUE(proposal.plan.has_value()) << proposal.cause;
  EXPECT_GT(proposal.plan->period, run.plan().period);
  EXPECT_THAT(proposal.cause,
              HasSubstr("the link to server 0 is 2 times slower than planned: T " + std::to_string(run.plan().period) +
                        " -> " + std::to_string(proposal.plan->period)));
  EXPECT_EQ(proposal.plan->cause, proposal.cause);
}

TEST(DriftTest, LinkFasterAgain_GetsTheShorterPeriodBack) {
  ToldRun run(RequestAt(kFast / 20, StrategyType::kInterleavedPS, 1, /*layer_bytes=*/2'000'000));
  const int first = run.plan().period;
  World slow = Links(2);
  slow.stall_us = 80'000;
  ASSERT_LT(run.StepsUntilDue(slow, 1000), 1000);
  run.Take(run.monitor.Propose().value().plan.value());
  EXPECT_FALSE(run.monitor.due());
  // As the new plan expects it.
  EXPECT_EQ(run.StepsUntilDue(Links(2), 500), 500);
  EXPECT_NEAR(run.monitor.drift(), 0, 0.02);
  ASSERT_LE(run.StepsUntilDue(Links(1), 1000), 58);
  const PlanProposal proposal = run.monitor.Propose().value();
  ASSERT_TRUE(proposal.plan.has_value()) << proposal.cause;
  EXPECT_EQ(proposal.plan->period, first);
  EXPECT_THAT(proposal.cause, HasSubstr("times faster than planned"));
}

// They also end early on a link that is as slow as before.
TEST(DriftTest, ShortTransfersThatEndEarly_LeaveTheLongerPeriod) {
  ToldRun run(RequestAt(kFast));
  World slow = Links(2);
  slow.stall_us = 80'000;
  ASSERT_LT(run.StepsUntilDue(slow, 1000), 1000);
  run.Take(run.monitor.Propose().value().plan.value());
  EXPECT_EQ(run.StepsUntilDue(Links(0.5), 500), 500);
}

// Where the link was measured, all had to carry the whole message.
TEST(DriftTest, TransfersThatEndEarly_MakeNoLinkFasterThanMeasuredBeforeTraining) {
  for (const StrategyType strategy : {StrategyType::kInterleavedPS, StrategyType::kAllReduce}) {
    for (const std::int64_t bytes : {100'000, 2'000'000}) {
      ToldRun run(RequestAt(kFast, strategy, 1, bytes));
      EXPECT_EQ(run.StepsUntilDue(Links(0.1), 300), 300);
      EXPECT_NEAR(run.monitor.drift(), 0, 1e-9);
    }
  }
}

// While all change to a plan some transfers take long.
TEST(DriftTest, PlanTaken_IsHeldAgainstWhatItWasMadeFor) {
  ToldRun run(RequestAt(kFast));
  World slow = Links(2);
  slow.stall_us = 80'000;
  ASSERT_LT(run.StepsUntilDue(slow, 1000), 1000);
  Plan next = run.monitor.Propose().value().plan.value();
  World changing = Links(40);
  for (int i = 0; i < 6; ++i) run.Step(changing);
  run.Take(std::move(next));
  for (int i = 0; i < 200; ++i) run.Step(Links(2));
  EXPECT_NEAR(run.monitor.drift(), 0, 0.02);
}

TEST(DriftTest, OneWorkersLink_IsNamed) {
  ToldRun run(RequestAt(kFast, StrategyType::kInterleavedPS, 2));
  World world;
  world.link = [](int worker, int server) { return worker == 2 && server == 1 ? 4.0 : 1.0; };
  world.stall_us = 80'000;
  ASSERT_LT(run.StepsUntilDue(world, 200), 200);
  EXPECT_THAT(run.monitor.Propose().value().cause, HasSubstr("the link of worker 2 to server 1 is 4 times slower"));
}

TEST(DriftTest, Computing_IsNamedAndPlannedFor) {
  ToldRun run(RequestAt(kFast));
  World world;
  world.compute = [] { return 2.0; };
  ASSERT_LE(run.StepsUntilDue(world, 200), 58);
  const PlanProposal proposal = run.monitor.Propose().value();
  EXPECT_THAT(proposal.cause, HasSubstr("computing is 2 times slower than planned"));
  ASSERT_TRUE(proposal.plan.has_value()) << proposal.cause;
  EXPECT_LT(proposal.plan->period, run.plan().period);
}

TEST(DriftTest, ShorterThanFiftyIterations_IsNotDue) {
  ToldRun run(RequestAt(kFast));
  for (int episode = 0; episode < 20; ++episode) {
    for (int i = 0; i < 40; ++i) run.Step(Links(2));
    EXPECT_FALSE(run.monitor.due());
    for (int i = 0; i < 20; ++i) run.Step({});
  }
  EXPECT_FALSE(run.monitor.due());
}

TEST(DriftTest, DriftWithoutStall_KeepsThePlanAndIsHeldAgainstWhatIsMeasured) {
  ToldRun run(RequestAt(0.0001));  // so fast that twice as slow costs nothing
  ASSERT_LT(run.StepsUntilDue(Links(2), 200), 200);
  const PlanProposal proposal = run.monitor.Propose().value();
  EXPECT_FALSE(proposal.plan.has_value());
  run.monitor.Rebase();
  EXPECT_EQ(run.StepsUntilDue(Links(2), 500), 500);
}

TEST(DriftTest, GivenPeriod_StaysAndGetsNewSlots) {
  PlanRequest request = RequestAt(kFast);
  request.options.period = 6;
  ToldRun run(request);
  World slow = Links(3);
  slow.stall_us = 200'000;
  ASSERT_LT(run.StepsUntilDue(slow, 200), 200);
  const PlanProposal proposal = run.monitor.Propose().value();
  if (proposal.plan.has_value()) {
    EXPECT_EQ(proposal.plan->period, 6);
    EXPECT_THAT(proposal.cause, HasSubstr("new slots at T 6"));
  }
}

TEST(DriftTest, SynchronousStrategies_AreMeasuredWithoutTheWaitingForOthers) {
  for (const StrategyType strategy : {StrategyType::kMergedPS, StrategyType::kAllReduce}) {
    ToldRun run(RequestAt(kFast, strategy));
    EXPECT_EQ(run.StepsUntilDue({}, 200), 200);
    EXPECT_NEAR(run.monitor.drift(), 0, 1e-9);
    EXPECT_LE(run.StepsUntilDue(Links(3), 200), 58);
    EXPECT_THAT(run.monitor.Propose().value().cause, HasSubstr("the network is 3 times slower than planned"));
  }
}

// A busy processor lengthens some transfers by a lot, and all of them by a little.
TEST(DriftTest, HeavyTailedNoise_IsNeverDue) {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> wide(0, 0.15);
  std::bernoulli_distribution hit(0.3);
  std::exponential_distribution<double> delay(0.5);
  World world;
  world.link = [&](int, int) { return wide(random) + (hit(random) ? delay(random) : 0); };
  world.compute = [&] { return 1 + 0.1 * wide(random) - 0.1 + (hit(random) ? 0.2 * delay(random) : 0); };
  ToldRun run(RequestAt(kFast));
  EXPECT_EQ(run.StepsUntilDue(world, 20'000), 20'000);
}

}  // namespace
}  // namespace weft
