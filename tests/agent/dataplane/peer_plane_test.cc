// What holds for every strategy without servers: one worker, and options that cannot work.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/agent/dataplane/peer_cluster.h"

namespace weft {
namespace {

class PeerPlaneTest : public testing::TestWithParam<StrategyType> {};

TEST_P(PeerPlaneTest, OneWorker_ExchangesNothingAndEqualsPlainSgd) {
  PeerRun run;
  run.shape = {.strategy = GetParam(), .workers = 1, .period = 2, .layers = {5, 0, 3}, .layers_per_group = 1};
  run.iterations = 7;
  run.learning_rate = 0.02F;
  run.gradient = [](ToyWorker& worker, std::int64_t t) {
    ToyRegression(worker.weights, worker.gradients, {.t = t, .samples = 4, .from = 0, .to = 4});
    return std::int64_t{4};
  };
  const PeerResult result = RunPeers(run);
  ASSERT_TRUE(result.status[0].ok()) << result.status[0];
  EXPECT_EQ(result.workers[0].weights, PlainSgd(run, 4));
  EXPECT_EQ(result.traffic[0].egress.messages, 0);
}

INSTANTIATE_TEST_SUITE_P(Strategies, PeerPlaneTest,
                         testing::Values(StrategyType::kAllReduce, StrategyType::kLocalSGD, StrategyType::kDPSGD,
                                         StrategyType::kADPSGD, StrategyType::kSGP));

Status Refusal(StrategyType strategy, const std::function<void(PeerPlaneOptions&)>& change) {
  LoopbackNetwork network(2);
  std::vector<float> weights(4), gradients(4);
  PeerPlaneOptions options;
  options.topology = Topology::Make({}, 2, 1).value();
  change(options);
  const Plan plan = ToyPlan({.strategy = strategy, .workers = 2, .layers = {4}});
  return MakePeerPlane(
             options, plan, {.weights = weights, .gradients = gradients, .layers = {{0, 4}}},
             [](FloatRange, std::int64_t) {}, network.endpoint(0), Clock::Steady())
      .status();
}

TEST(PeerPlane, OptionsThatCannotWork_AreRefusedByName) {
  const auto message = [](StrategyType strategy, const std::function<void(PeerPlaneOptions&)>& change) {
    const Status status = Refusal(strategy, change);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status;
    return status.message();
  };
  EXPECT_EQ(message(StrategyType::kDPSGD, [](PeerPlaneOptions& o) { o.topology.reset(); }),
            "topology: it is not given");
  EXPECT_EQ(message(StrategyType::kSGP, [](PeerPlaneOptions& o) { o.topology = Topology::Make({}, 3, 1).value(); }),
            "topology: it has 3 nodes, not 2");
  EXPECT_EQ(message(StrategyType::kSGP, [](PeerPlaneOptions& o) { o.overlap = -1; }), "overlap: -1 is not in [0, 100]");
  EXPECT_EQ(message(StrategyType::kLocalSGD, [](PeerPlaneOptions& o) { o.slow_momentum = 1; }),
            "slowMomentum: 1.000000 is not in [0, 1)");
  EXPECT_EQ(message(StrategyType::kLocalSGD, [](PeerPlaneOptions& o) { o.slow_momentum = 0.5; }),
            "slowMomentum: the learning rate that it divides by is not given");
  EXPECT_EQ(message(StrategyType::kMergedPS, [](PeerPlaneOptions&) {}), "strategy.type: it is not one without servers");
}

TEST(PeerPlane, TensorsThatDoNotFit_AreRefusedByName) {
  PeerRun run;
  run.shape = {.strategy = StrategyType::kSGP, .workers = 2, .layers = {4}};
  run.resume_planes = {{{"sgp_x", {1, 2}}}, {{"sgp_w", {1}}}};
  const PeerResult result = RunPeers(run);
  EXPECT_EQ(result.status[0].message(), "checkpoint: plane tensor sgp_x has 2 values, not 4");
  EXPECT_EQ(result.status[1].message(), "checkpoint: there is no plane tensor sgp_x");
}

}  // namespace
}  // namespace weft
