#include <gtest/gtest.h>

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
          // Where SGP's messages meet at one port and not at another, workers drift apart and meet less.
          const double tolerance = strategy == StrategyType::kSGP ? 0.2 : 0.02;
          EXPECT_NEAR(result.iteration_us, input.plan.iteration_us, tolerance * input.plan.iteration_us)
              << Name(strategy) << ", " << workers << " workers, " << us_per_byte << " us a byte, order "
              << static_cast<int>(order);
          const double sent = result.bytes_per_iteration / workers;
          const bool skips = strategy == StrategyType::kADPSGD || strategy == StrategyType::kSwarm;
          EXPECT_NEAR(sent, input.plan.wire_bytes, (skips ? 0.35 : 0.05) * input.plan.wire_bytes) << Name(strategy);
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

TEST(SimulatePeers, LinkTooSlowForASwarm_SkipsInteractionsAndStallsNobody) {
  const SimulationResult fast = Simulated(CaseOf(StrategyType::kSwarm, Layers(100'000), 4, {50, 0.008}));
  EXPECT_EQ(fast.skipped_share, 0);
  const SimulationResult slow = Simulated(CaseOf(StrategyType::kSwarm, Layers(100'000), 4, {50, 2}));
  EXPECT_GT(slow.skipped_share, 0.5);
  EXPECT_NEAR(slow.iteration_us, fast.iteration_us, 1);
  EXPECT_GT(slow.link_use, 0.8);
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
