#include "coordinator/planner/peer_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "agent/core/quantizer.h"
#include "agent/dataplane/swarm_layout.h"
#include "common/plan/json.h"
#include "common/plan/names.h"
#include "coordinator/planner/peer_traffic.h"
#include "coordinator/planner/processor.h"
#include "tests/coordinator/planner/timelines.h"

namespace weft {
namespace {

using testing::HasSubstr;

constexpr StrategyType kPeerStrategies[] = {StrategyType::kSwarm, StrategyType::kAllReduce, StrategyType::kLocalSGD,
                                            StrategyType::kDPSGD, StrategyType::kADPSGD,    StrategyType::kSGP};

PlanRequest Request(StrategyType strategy, Timeline timeline, int workers, const Link& link) {
  PlanRequest request;
  request.strategy = strategy;
  request.timeline = std::move(timeline);
  request.workers = workers;
  request.servers = 0;
  request.peer_links = {link};
  return request;
}

Plan Made(const PlanRequest& request) {
  Result<Plan> plan = MakePlan(request);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? *std::move(plan) : Plan{};
}

TEST(MakePeerPlan, EveryStrategyAndSize_ReadsBackAndHasNoShards) {
  for (const StrategyType strategy : kPeerStrategies) {
    for (const int workers : {1, 2, 3, 8}) {
      PlanRequest request = Request(strategy, UniformTimeline({4000, 0, 8000}, 10, 20), workers, {5, 0.01});
      request.servers = workers == 8 ? 2 : 0;  // a job of Auto may have some
      const Plan plan = Made(request);
      const Result<Plan> read = ParsePlan(PlanToJson(plan));
      ASSERT_TRUE(read.ok()) << Name(strategy) << ": " << read.status();
      EXPECT_EQ(read->strategy, strategy);
      EXPECT_EQ(read->servers, request.servers);
      EXPECT_EQ(read->wire_bytes, plan.wire_bytes);
      EXPECT_EQ(read->quantization_bits, strategy == StrategyType::kSwarm ? 8 : 0);
      EXPECT_TRUE(plan.shards.empty());
      EXPECT_GE(plan.iteration_us, plan.compute_us);
      EXPECT_LE(plan.link_use, 1);
      if (workers > 1) continue;
      EXPECT_EQ(plan.iteration_us, plan.compute_us);
      EXPECT_EQ(plan.wire_bytes, 0);
      EXPECT_EQ(plan.reason, "One worker exchanges nothing.");
    }
  }
}

TEST(MakePeerPlan, AllReduceByHand_MatchesTheRecurrence) {
  // Three workers: 4 steps of b/3, so 4 * 5 + 0.01 * 4/3 * 3000 = 60 a bucket. Gradients at 20 and 40, and two passes p
  // over a bucket before it is sent: the sums are there at 80 + 2p and 140 + 2p. Layer 0's forward waits from 40 + 2p
  // to then; layer 1's comes behind it. Two passes more for each sum that is there.
  PlanRequest request = Request(StrategyType::kAllReduce, UniformTimeline({3000, 3000}, 10, 20), 3, {5, 0.01});
  request.options.fusion = Fusion::kPerLayer;
  const double p = 3000 * kPassUsPerByte;
  const Plan plan = Made(request);
  ASSERT_EQ(plan.groups.size(), 2u);
  EXPECT_DOUBLE_EQ(plan.groups[0].transfer_us, 60);
  EXPECT_DOUBLE_EQ(plan.groups[0].window_from_us, 20 + 2 * p);
  EXPECT_DOUBLE_EQ(plan.groups[0].window_to_us, 80 + 2 * p);
  EXPECT_DOUBLE_EQ(plan.groups[1].window_to_us, 140 + 2 * p);
  EXPECT_DOUBLE_EQ(plan.groups[1].stall_us, 100);
  EXPECT_DOUBLE_EQ(plan.groups[0].stall_us, 0);
  EXPECT_DOUBLE_EQ(plan.iteration_us, 60 + 100 + 6 * p);
  EXPECT_DOUBLE_EQ(plan.wire_bytes, 4.0 / 3 * (6000 + 2 * 4));
}

TEST(MakePeerPlan, AllReduceOnALatentRing_FusesIntoFewBuckets) {
  PlanRequest request =
      Request(StrategyType::kAllReduce, UniformTimeline(std::vector<std::int64_t>(20, 4000), 50, 100), 8, {100, 0.001});
  EXPECT_LE(Made(request).groups.size(), 2u);
  request.peer_links = {{0.1, 0.001}};
  EXPECT_GT(Made(request).groups.size(), 5u);
}

TEST(MakePeerPlan, LocalSGD_PaysTheRingOnceInH) {
  PlanRequest request = Request(StrategyType::kLocalSGD, UniformTimeline({3000, 3000}, 10, 20), 3, {5, 0.01});
  request.options.fusion = Fusion::kPerLayer;
  request.peers.local_steps = 4;
  const Plan plan = Made(request);
  EXPECT_EQ(plan.period, 4);
  // Two buckets of 60 us, the second ready at the end of backward, and a pass over each.
  ASSERT_EQ(plan.groups.size(), 2u);
  EXPECT_EQ(plan.groups[1].phase, 0);
  EXPECT_DOUBLE_EQ(plan.iteration_us, 60 + (100 + 6000 * kPassUsPerByte) / 4);
  EXPECT_DOUBLE_EQ(plan.wire_bytes, 2000);
}

TEST(MakePeerPlan, SwarmWithTwiceTheSteps_SendsHalf) {
  PlanRequest request = Request(StrategyType::kSwarm, UniformTimeline({300'000, 300'000}, 1000, 2000), 3, {5, 0.001});
  request.peers.local_steps = 2;
  const Plan two = Made(request);
  request.peers.local_steps = 4;
  const Plan four = Made(request);
  EXPECT_NEAR(four.wire_bytes, two.wire_bytes / 2, 1e-9);
  EXPECT_LT(four.iteration_us, two.iteration_us);
  request.peers.quantization_bits = 0;
  EXPECT_GT(Made(request).wire_bytes, 3.9 * four.wire_bytes);
}

TEST(MakePeerPlan, LinkTooSlowForASwarm_WaitsForTheTimeOutAndNoLonger) {
  PlanRequest request = Request(StrategyType::kSwarm, UniformTimeline({40'000'000}, 1000, 2000), 3, {5, 0.08});
  const Plan plan = Made(request);
  EXPECT_GT(plan.groups[0].transfer_us, 1e6);
  EXPECT_GT(plan.groups[0].stall_us, 1e6);
  EXPECT_LE(plan.wire_bytes, plan.iteration_us / 0.08);
  EXPECT_EQ(Staleness(plan, request), std::numeric_limits<double>::infinity());
  request.peers.exchange_timeout_us = 1e5;
  const Plan sooner = Made(request);
  EXPECT_LT(sooner.groups[0].stall_us, 2e5);
  request.peers.exchange_timeout_us = 1e7;
  EXPECT_EQ(Staleness(Made(request), request), 4);
}

// Rings of three workers and more: half of the partners drawn are drawn by another one, too, and share their ports.
TEST(MakePeerPlan, ADPSGD_WaitsForAveragingsThatMeet) {
  PlanRequest request = Request(StrategyType::kADPSGD, UniformTimeline({4000}, 20, 40), 5, {5, 0.01});
  const double passes = (kReadModelPasses + kAveragePasses + kApplyReplyPasses) * 4000 * kPassUsPerByte;
  const double outside = ProcessorCostUs(Made(request), request);
  EXPECT_NEAR(Made(request).iteration_us, (15 + 80 + 15 + 160) / 2.0 + passes + outside, 1e-9);
  request.timeline = UniformTimeline({4000}, 40, 80);
  EXPECT_NEAR(Made(request).iteration_us, (120 + 15 + 160 + passes) / 2.0 + outside, 1e-9);
  request.workers = 2;
  EXPECT_NEAR(Made(request).iteration_us, 120 + outside, 1e-9);
}

TEST(MeetingOdds, AnyGraph_SumToOneAndAreThoseOfThePartnersDrawn) {
  for (const TopologyType type : {TopologyType::kComplete, TopologyType::kRing, TopologyType::kHypercube}) {
    PlanRequest request = Request(StrategyType::kADPSGD, UniformTimeline({4000}, 40, 80), 8, {5, 0.01});
    Result<Topology> topology = Topology::Make({.type = type, .degree = 0, .edges = {}}, 8, 1);
    ASSERT_TRUE(topology.ok());
    const int degree = topology->degree(0);
    request.peers.gossip_topology = *std::move(topology);
    const std::vector<double> odds = MeetingOdds(StrategyType::kADPSGD, request);
    double sum = 0, mean = 0;
    for (std::size_t k = 0; k < odds.size(); ++k) sum += odds[k], mean += static_cast<double>(k) * odds[k];
    EXPECT_NEAR(sum, 1, 1e-6);
    EXPECT_NEAR(mean, (degree - 1.0) / degree, 1e-6);
  }
  // A star: its middle is drawn by all three, and draws one that nobody else does.
  PlanRequest star = Request(StrategyType::kADPSGD, UniformTimeline({4000}, 40, 80), 4, {5, 0.01});
  Result<Topology> topology =
      Topology::Make({.type = TopologyType::kEdgeList, .degree = 0, .edges = {{0, 1}, {0, 2}, {0, 3}}}, 4, 1);
  ASSERT_TRUE(topology.ok());
  star.peers.gossip_topology = *std::move(topology);
  const std::vector<double> odds = MeetingOdds(StrategyType::kADPSGD, star);
  ASSERT_EQ(odds.size(), 3u);
  EXPECT_NEAR(odds[0], 0.25, 1e-9);
  EXPECT_NEAR(odds[2], 0.75, 1e-9);
}

TEST(MakePeerPlan, DPSGDInItsTwoOrders_RunsBesideComputeOrBehindIt) {
  // A ring of 4: two neighbours, so 5 + 0.001 * 2 * 40000 = 85 of 120 us of compute.
  PlanRequest request = Request(StrategyType::kDPSGD, UniformTimeline({40'000}, 40, 80), 4, {5, 0.001});
  const Plan beside = Made(request);
  EXPECT_DOUBLE_EQ(beside.groups[0].transfer_us, 85);
  EXPECT_DOUBLE_EQ(beside.groups[0].window_from_us, -40);
  EXPECT_DOUBLE_EQ(beside.wire_bytes, 80'000);
  // A pass to keep what is sent, one for each model of three, and one to put it in place.
  EXPECT_DOUBLE_EQ(beside.iteration_us, 120 + ProcessorCostUs(beside, request));
  request.peers.order = CombineOrder::kAdaptThenCombine;
  EXPECT_DOUBLE_EQ(Made(request).iteration_us, 120 + 85 + 3 * 40'000 * kPassUsPerByte);
}

TEST(SwarmTraffic, AnySize_IsWhatQuantizerAndRegistersTake) {
  for (const int bits : {0, 2, 3, 8, 16}) {
    for (const std::int64_t floats : {1, 63, 64, 4096, 4097, 61'706, 1'000'000}) {
      const Quantizer quantizer({.bits = bits, .rotation = false, .seed = 1}, static_cast<std::size_t>(floats));
      const SwarmLayout layout(quantizer);
      EXPECT_EQ(RegisterReadBytes(floats, bits), static_cast<double>(kHeaderBytes + layout.head_bytes()))
          << floats << " floats, " << bits << " bits";
      EXPECT_EQ(CellBytes(floats, bits), static_cast<double>(layout.cell_bytes()))
          << floats << " floats, " << bits << " bits";
    }
  }
}

TEST(MakePeerPlan, PeerLinks_AreOneOrOneAWorker) {
  PlanRequest request = Request(StrategyType::kSGP, UniformTimeline({4000}, 40, 80), 3, {5, 0.01});
  const double even = Made(request).groups[0].transfer_us;
  request.peer_links = {{5, 0.01}, {7, 0.01}, {5, 0.02}};
  // A ring of three is the complete graph: in each iteration each hears from one.
  EXPECT_DOUBLE_EQ(Made(request).groups[0].transfer_us, even + 2 + 40);
  request.peer_links.pop_back();
  EXPECT_EQ(MakePlan(request).status().message(), "peer links: 2 for 3 workers");
  request.peer_links = {{5, -1}};
  EXPECT_THAT(MakePlan(request).status().message(), HasSubstr("peer links[0]: -1"));
}

}  // namespace
}  // namespace weft
