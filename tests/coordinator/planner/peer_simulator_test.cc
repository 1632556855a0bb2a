#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "common/plan/names.h"
#include "coordinator/planner/planner.h"
#include "coordinator/planner/processor.h"
#include "coordinator/planner/simulator.h"
#include "tests/coordinator/planner/timelines.h"

namespace weft {
namespace {

constexpr StrategyType kPeerStrategies[] = {StrategyType::kSwarm, StrategyType::kAllReduce, StrategyType::kLocalSGD,
                                            StrategyType::kDPSGD, StrategyType::kADPSGD,    StrategyType::kSGP};

struct Case {
  PlanRequest request;
  Plan plan;
};

Case CaseOf(StrategyType strategy, Timeline timeline, int workers, const Link& link, const PeerOptions& peers = {}) {
  Case out;
  out.request.strategy = strategy;
  out.request.timeline = std::move(timeline);
  out.request.workers = workers;
  out.request.servers = 0;
  out.request.peer_links = {link};
  out.request.peers = peers;
  const Result<Plan> plan = MakePlan(out.request);
  EXPECT_TRUE(plan.ok()) << plan.status();
  out.plan = *plan;
  return out;
}

SimulationResult Simulated(const Case& input, const SimulationOptions& options = {}) {
  Result<SimulationResult> result = Simulate(input.plan, input.request, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return *std::move(result);
}

// 20 layers and 100 ms of compute.
Timeline Layers(std::int64_t bytes) { return UniformTimeline(std::vector<std::int64_t>(20, bytes), 1600, 3400); }

// Where SGP's messages meet at one port and not at another, workers drift apart and meet less; ADPSGD's averagings meet
// at random, and drag out those that begin later.
double Tolerance(const Case& input) {
  if (input.plan.strategy == StrategyType::kSGP) return 0.2;
  if (input.plan.strategy == StrategyType::kADPSGD && input.plan.workers > 2) return 0.3;
  return input.plan.strategy == StrategyType::kSwarm ? 0.1 : 0.02;
}

TEST(SimulatePeers, EvenWorkers_AgreesWithTheCostModel) {
  for (const StrategyType strategy : kPeerStrategies) {
    for (const int workers : {2, 3, 4, 8}) {
      for (const double us_per_byte : {0.001, 0.008, 0.08}) {
        for (const CombineOrder order : {CombineOrder::kCombineThenAdapt, CombineOrder::kAdaptThenCombine}) {
          PeerOptions peers;
          peers.order = order;
          peers.overlap = order == CombineOrder::kCombineThenAdapt ? 1 : 0;
          const Case input = CaseOf(strategy, Layers(100'000), workers, {50, us_per_byte}, peers);
          const SimulationResult result = Simulated(input);
          EXPECT_NEAR(result.iteration_us, input.plan.iteration_us, Tolerance(input) * input.plan.iteration_us)
              << Name(strategy) << ", " << workers << " workers, " << us_per_byte << " us a byte, order "
              << static_cast<int>(order);
          const double sent = result.bytes_per_iteration / workers;
          const bool varies = strategy == StrategyType::kSwarm;  // with the deltas that wait
          EXPECT_NEAR(sent, input.plan.wire_bytes, (varies ? 0.35 : 0.05) * input.plan.wire_bytes) << Name(strategy);
          EXPECT_DOUBLE_EQ(std::accumulate(result.sent_bytes.begin(), result.sent_bytes.end(), 0.0),
                           result.bytes_per_iteration);
        }
      }
    }
  }
}

// Two workers send each other 1000 bytes as their iterations start, 5 + 10 us, beside 30 us of compute; then 15 behind
// it.
TEST(SimulatePeers, DPSGDByHand_WaitsOnlyBehindTheStep) {
  PeerOptions peers;
  const Timeline timeline = UniformTimeline({1000}, 10, 20);
  const Case beside = CaseOf(StrategyType::kDPSGD, timeline, 2, {5, 0.01}, peers);
  const double processor = ProcessorCostUs(beside.plan, beside.request);
  EXPECT_NEAR(Simulated(beside).iteration_us, 30 + processor, 0.01);
  peers.order = CombineOrder::kAdaptThenCombine;
  const SimulationResult behind = Simulated(CaseOf(StrategyType::kDPSGD, timeline, 2, {5, 0.01}, peers));
  EXPECT_NEAR(behind.iteration_us, 45 + 2 * 1000 * kPassUsPerByte, 0.01);
  EXPECT_NEAR(behind.sent_bytes[0], 1000, 1);
}

TEST(SimulatePeers, OneWorkerTwiceAsSlow_HoldsOnlyThoseThatWait) {
  SimulationOptions options;
  options.slowdown = {2, 1, 1, 1};
  for (const StrategyType strategy : kPeerStrategies) {
    const SimulationResult result = Simulated(CaseOf(strategy, Layers(1000), 4, {10, 0.001}), options);
    const bool waits = strategy != StrategyType::kSwarm && strategy != StrategyType::kADPSGD;
    // Of those that don't wait, one in four takes twice the time.
    EXPECT_NEAR(result.iteration_us, (waits ? 2 : 1.25) * result.compute_us, 0.05 * result.compute_us)
        << Name(strategy);
  }
}

// Two workers average with each other: a header of 4 bytes, a model of 1000 and one back, each 5 us and 0.01 a byte.
TEST(SimulatePeers, ADPSGDByHand_WaitsForItsAveragingAtTheEnd) {
  const double p = 1000 * kPassUsPerByte;
  const double averaging = 5.04 + 15 + 15 + (kReadModelPasses + kAveragePasses + kApplyReplyPasses) * p;
  for (const double compute : {30.0, 60.0}) {
    const Case input =
        CaseOf(StrategyType::kADPSGD, UniformTimeline({1000}, compute / 3, 2 * compute / 3), 2, {5, 0.01});
    const double outside = ProcessorCostUs(input.plan, input.request);
    const SimulationResult result = Simulated(input);
    EXPECT_NEAR(result.iteration_us, std::max(compute, averaging) + outside, 0.01);
    EXPECT_NEAR(input.plan.iteration_us, result.iteration_us, 0.05);
    EXPECT_NEAR(result.stall_us, std::max(0.0, averaging - compute) + outside, 0.01);
    EXPECT_NEAR(result.sent_bytes[0], 2004, 30);
    EXPECT_EQ(result.missed_share, 0);
  }
}

// The same averaging takes 35.59 us and is given up after 20. It stays open, so the next two iterations of 10 us have
// no partner to draw; the fourth begins one.
TEST(SimulatePeers, ADPSGDByHand_GivesUpAndLeavesThatPartnerOut) {
  PeerOptions peers;
  peers.exchange_timeout_us = 20;
  const Case input = CaseOf(StrategyType::kADPSGD, UniformTimeline({1000}, 4, 6), 2, {5, 0.01}, peers);
  SimulationOptions options;
  options.iterations = 30;
  const SimulationResult result = Simulated(input, options);
  const double outside = ProcessorCostUs(input.plan, input.request);
  EXPECT_NEAR(result.iteration_us, (20.0 + 10 + 10) / 3 + outside, 0.5);
  EXPECT_EQ(result.missed_share, 1);
  EXPECT_NEAR(input.plan.iteration_us, result.iteration_us, 0.15 * result.iteration_us);
}

// An exchange that takes longer than the compute beside it is waited for, in the plan and in the simulation.
TEST(SimulatePeers, ExchangeLongerThanCompute_IsInTheIteration) {
  PeerOptions peers;
  peers.local_steps = 1;
  peers.quantization_bits = 0;
  // 2 MB at 0.08 us a byte: 160 ms a model, beside 100 ms of compute.
  for (const int workers : {2, 4, 8}) {
    for (const StrategyType strategy : {StrategyType::kADPSGD, StrategyType::kSwarm}) {
      const Case input = CaseOf(strategy, Layers(100'000), workers, {50, 0.08}, peers);
      EXPECT_GT(input.plan.iteration_us, 320e3) << Name(strategy);
      EXPECT_GT(input.plan.groups[0].stall_us, 220e3) << Name(strategy);
      const SimulationResult result = Simulated(input);
      EXPECT_GT(result.iteration_us, 320e3) << Name(strategy);
      EXPECT_GT(result.stall_us, 220e3) << Name(strategy);
      EXPECT_NEAR(result.iteration_us, input.plan.iteration_us, 0.4 * input.plan.iteration_us) << Name(strategy);
    }
  }
}

TEST(SimulatePeers, LinkTooSlowForASwarm_GivesUpAtTheTimeOut) {
  EXPECT_EQ(Simulated(CaseOf(StrategyType::kSwarm, Layers(100'000), 4, {50, 0.008})).missed_share, 0);
  // 4 s for a model of 8 bits.
  const Case slow = CaseOf(StrategyType::kSwarm, Layers(100'000), 4, {50, 8});
  const SimulationResult result = Simulated(slow);
  EXPECT_EQ(result.missed_share, 1);
  // A round has 400 ms of compute, and at most an interaction of a second that begins at its end.
  EXPECT_LT(result.iteration_us, (0.4e6 + 1e6) / 4 + 1000);
  EXPECT_LT(slow.plan.iteration_us, 1.05 * 1e6 / 2.5);
  EXPECT_LT(slow.plan.wire_bytes, slow.plan.iteration_us / 8);
}

TEST(SimulatePeers, SlowestLink_IsTheRings) {
  Case input = CaseOf(StrategyType::kAllReduce, Layers(100'000), 4, {50, 0.008});
  const double even = Simulated(input).stall_us;
  input.request.peer_links = {{50, 0.008}, {50, 0.08}, {50, 0.008}, {50, 0.008}};
  EXPECT_GT(Simulated(input).stall_us, 5 * even);
}

TEST(SimulatePeers, Jitter_IsSeededAndCostsThoseThatWait) {
  for (const StrategyType strategy : kPeerStrategies) {
    const Case input = CaseOf(strategy, Layers(10'000), 4, {10, 0.01});
    SimulationOptions options;
    options.compute_jitter = 0.2;
    const double first = Simulated(input, options).iteration_us;
    EXPECT_EQ(Simulated(input, options).iteration_us, first) << Name(strategy);
    options.seed = 2;
    EXPECT_NE(Simulated(input, options).iteration_us, first) << Name(strategy);
    if (strategy == StrategyType::kSwarm || strategy == StrategyType::kADPSGD) continue;
    EXPECT_GT(first, 1.02 * Simulated(input).iteration_us) << Name(strategy);
  }
}

TEST(SimulatePeers, OneWorker_ExchangesNothing) {
  for (const StrategyType strategy : kPeerStrategies) {
    const SimulationResult result = Simulated(CaseOf(strategy, Layers(1000), 1, {10, 0.001}));
    EXPECT_NEAR(result.iteration_us, result.compute_us, 1e-6) << Name(strategy);
    EXPECT_EQ(result.bytes_per_iteration, 0) << Name(strategy);
  }
}

TEST(SimulatePeers, AnyGraph_EndsWithoutDeadlock) {
  std::mt19937_64 random(5);
  for (const TopologyType type : {TopologyType::kComplete, TopologyType::kRing, TopologyType::kHypercube}) {
    PeerOptions peers;
    Result<Topology> topology = Topology::Make({.type = type, .degree = 0, .edges = {}}, 8, 1);
    ASSERT_TRUE(topology.ok());
    peers.swarm_topology = *topology;
    peers.gossip_topology = *topology;
    for (const StrategyType strategy : kPeerStrategies) {
      for (const int overlap : {0, 1, 3}) {
        peers.overlap = overlap;
        SimulationOptions options;
        options.compute_jitter = 0.3;
        options.iterations = 10;
        const SimulationResult result =
            Simulated(CaseOf(strategy, RandomTimeline(&random, 12), 8, {5, 0.002}, peers), options);
        EXPECT_GT(result.iteration_us, 0.3 * result.compute_us) << Name(strategy);
        EXPECT_LE(result.link_use, 1 + 1e-9) << Name(strategy);
      }
    }
  }
}

}  // namespace
}  // namespace weft
