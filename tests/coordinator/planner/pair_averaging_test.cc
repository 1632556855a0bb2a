#include "coordinator/planner/pair_averaging.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "coordinator/planner/links.h"
#include "coordinator/planner/peer_traffic.h"
#include "coordinator/planner/processor.h"
#include "tests/coordinator/planner/timelines.h"

namespace weft {
namespace {

constexpr double kLatencyUs = 5, kUsPerByte = 0.01;
constexpr double kSmall = 64 * kUsPerByte;

// Workers whose averagings the test begins itself, on links of 5 us and 0.01 us a byte.
class Averagings {
 public:
  Averagings(StrategyType strategy, std::int64_t bytes, std::vector<std::vector<int>> neighbours, double timeout_us)
      : neighbours_(std::move(neighbours)) {
    const int workers = static_cast<int>(neighbours_.size());
    request_.strategy = strategy;
    request_.timeline = UniformTimeline({bytes}, 10, 20);
    request_.workers = workers;
    request_.servers = 0;
    request_.peer_links = {{kLatencyUs, kUsPerByte}};
    request_.peers.quantization_bits = 0;
    request_.peers.exchange_timeout_us = timeout_us;
    plan_ = *MakePlan(request_);
    links_.emplace(*PeerLinks::Make(request_.peer_links, workers));
    network_.emplace(*links_, workers);
    const PairAveraging::Parts parts{
        .plan = plan_, .request = request_, .neighbours = neighbours_, .seed = 1, .network = *network_};
    averaging_ = strategy == StrategyType::kSwarm ? MakeSwarmAveraging(parts) : MakeAdpsgdAveraging(parts);
    averaging_->Measure(true);
  }

  // All of these begin now, and their computes end now. When each goes on.
  std::vector<double> BeginAndAwait(const std::vector<int>& workers) {
    std::vector<double> ends(neighbours_.size(), -1);
    int waiting = 0;
    for (const int w : workers) averaging_->Begin(w);
    for (const int w : workers) {
      ++waiting;
      averaging_->Await(w, [&, w] {
        --waiting;
        ends[static_cast<std::size_t>(w)] = network_->now();
      });
    }
    while (waiting > 0) network_->Step();
    return ends;
  }

  double missed_share() const { return averaging_->missed_share(); }
  double pass_us() const { return kPassUsPerByte * static_cast<double>(plan_.groups[0].bytes); }
  const Plan& plan() const { return plan_; }

 private:
  const std::vector<std::vector<int>> neighbours_;
  PlanRequest request_;
  Plan plan_;
  std::optional<PeerLinks> links_;
  std::optional<SimulatedNetwork> network_;
  std::unique_ptr<PairAveraging> averaging_;
};

double AdpsgdPasses(const Averagings& all) {
  return (kReadModelPasses + kAveragePasses + kApplyReplyPasses) * all.pass_us();
}

TEST(AdpsgdAveraging, OneAlone_TakesAHeaderAndAModelEachWay) {
  Averagings all(StrategyType::kADPSGD, 1000, {{1}, {0}}, 1e6);
  EXPECT_NEAR(all.BeginAndAwait({0})[0], 5.04 + 15 + 15 + AdpsgdPasses(all), 1e-6);
  EXPECT_EQ(all.missed_share(), 0);
}

// 1 and 2 have no neighbour but 0, whose port carries two of each message at a time.
TEST(AdpsgdAveraging, TwoWithOnePartner_ShareItsPort) {
  Averagings all(StrategyType::kADPSGD, 1000, {{1, 2}, {0}, {0}}, 1e6);
  const std::vector<double> ends = all.BeginAndAwait({1, 2});
  EXPECT_NEAR(ends[1], 5.08 + 25 + 25 + AdpsgdPasses(all), 1e-6);
  EXPECT_NEAR(ends[2], ends[1], 1e-6);
}

TEST(AdpsgdAveraging, TimeOut_EndsTheWaitAndLeavesThePartnerOut) {
  Averagings all(StrategyType::kADPSGD, 1000, {{1}, {0}}, 20);
  EXPECT_NEAR(all.BeginAndAwait({0})[0], 20, 1e-6);
  EXPECT_EQ(all.missed_share(), 1);
  // Its only partner still is in the first one: there is nothing to wait for.
  EXPECT_NEAR(all.BeginAndAwait({0})[0], 20, 1e-6);
}

double SwarmAlone(const Averagings& all) {
  const std::int64_t floats = FloatsOf(all.plan().groups[0].bytes);
  const SwarmCosts costs = SwarmCostsOf(all.plan());
  // The header, the model, a cell's claim, the delta, the word that makes it count: nine messages one after the other.
  return 9 * kLatencyUs + 7 * kSmall + kUsPerByte * (RegisterReadBytes(floats, 0) + CellBytes(floats, 0)) +
         costs.decode_us + costs.encode_us + costs.publish_us;
}

TEST(SwarmAveraging, OneAlone_TakesFiveOperationsAndItsCoding) {
  Averagings all(StrategyType::kSwarm, 4000, {{1}, {0}}, 1e6);
  EXPECT_NEAR(all.BeginAndAwait({0})[0], SwarmAlone(all), 1e-6);
  EXPECT_EQ(all.missed_share(), 0);
}

// Each finds, at its claim, that the other has claimed a cell of its own queue: they begin again, at random times.
TEST(SwarmAveraging, TwoThatDrawEachOther_BeginAgain) {
  Averagings all(StrategyType::kSwarm, 4000, {{1}, {0}}, 1e6);
  const std::vector<double> ends = all.BeginAndAwait({0, 1});
  EXPECT_GT(std::max(ends[0], ends[1]), 1.5 * SwarmAlone(all));
  EXPECT_EQ(all.missed_share(), 0);
}

TEST(SwarmAveraging, TimeOut_EndsTheWaitAndLeavesThePartnerOut) {
  Averagings all(StrategyType::kSwarm, 4000, {{1}, {0}}, 20);
  const double publish_us = SwarmCostsOf(all.plan()).publish_us;
  EXPECT_LE(all.BeginAndAwait({0})[0], 20 + publish_us);
  EXPECT_EQ(all.missed_share(), 1);
  EXPECT_LE(all.BeginAndAwait({0})[0], 20 + publish_us);
}

}  // namespace
}  // namespace weft
