// What the synchronous planes without servers do when a rank dies, stands still or leaves.
#include <gtest/gtest.h>

#include <string>

#include "tests/agent/dataplane/peer_cluster.h"

namespace weft {
namespace {

constexpr int kWorkers = 4, kVictim = 2;

class PeerFailureTest : public testing::TestWithParam<StrategyType> {
 protected:
  static PeerRun Rounds() {
    PeerRun run;
    run.shape = {.strategy = GetParam(), .workers = kWorkers, .period = 2, .layers = {5, 3}, .layers_per_group = 1};
    run.topology.type = TopologyType::kRing;
    run.iterations = 1000;
    run.options.peer_timeout = std::chrono::seconds(20);
    run.gradient = [](ToyWorker& worker, std::int64_t t) {
      ToyRegression(worker.weights, worker.gradients, {.t = t});
      return std::int64_t{1};
    };
    return run;
  }
  static void ExpectNamed(const PeerResult& result, StatusCode code) {
    for (int k = 0; k < kWorkers; ++k) {
      if (k == kVictim) continue;
      const Status& status = result.status[static_cast<std::size_t>(k)];
      EXPECT_EQ(status.code(), code) << status;
      EXPECT_NE(status.message().find("rank " + std::to_string(kVictim)), std::string::npos) << status;
    }
  }
};

TEST_P(PeerFailureTest, RankDies_SurvivorsEndAndNameIt) {
  PeerRun run = Rounds();
  run.after_iteration = [](int worker, std::int64_t iteration, LoopbackNetwork& network) {
    if (worker == kVictim && iteration == 3) network.Kill(kVictim);
    return OkStatus();
  };
  ExpectNamed(RunPeers(run), StatusCode::kUnavailable);
}

TEST_P(PeerFailureTest, RankIsDestroyedBeforeFinish_OthersAreToldAtOnce) {
  PeerRun run = Rounds();
  run.after_iteration = [](int worker, std::int64_t iteration, LoopbackNetwork&) {
    return worker == kVictim && iteration == 3 ? InternalError("broken") : OkStatus();
  };
  ExpectNamed(RunPeers(run), StatusCode::kCancelled);
}

TEST_P(PeerFailureTest, RankFallsSilent_OthersEndAtTheTimeOutAndNameIt) {
  PeerRun run = Rounds();
  run.options.peer_timeout = std::chrono::milliseconds(200);
  run.tune = [](int worker, PeerPlaneOptions& options) {
    if (worker == kVictim) options.peer_timeout = std::chrono::milliseconds(600);
  };
  run.after_iteration = [](int worker, std::int64_t iteration, LoopbackNetwork& network) {
    if (worker == kVictim && iteration == 3) network.Cut(kVictim);
    return OkStatus();
  };
  ExpectNamed(RunPeers(run), StatusCode::kDeadlineExceeded);
}

INSTANTIATE_TEST_SUITE_P(Strategies, PeerFailureTest,
                         testing::Values(StrategyType::kAllReduce, StrategyType::kLocalSGD, StrategyType::kDPSGD,
                                         StrategyType::kSGP));

}  // namespace
}  // namespace weft
