// The strategies without servers with a process for each rank, over MPI: that they meet, exchange models of more than
// one message's eager size, and leave a transport that can be used.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "agent/dataplane/peer_plane.h"
#include "common/clock.h"
#include "common/math/topology.h"
#include "tests/agent/dataplane/toy_cluster.h"
#include "tests/agent/transport/every_rank.h"

namespace weft {
namespace {

constexpr std::int64_t kFloats = 300'000;
constexpr std::int64_t kIterations = 24;

std::vector<float> StartOf(int rank) { return ToyWeights(kFloats, 100 + static_cast<std::uint32_t>(rank)); }

class PeerRanksTest : public testing::TestWithParam<std::tuple<StrategyType, CombineOrder>> {};

// Iterations without gradients, a Drain halfway.
Status Average(Transport& transport, std::vector<float>& weights) {
  const auto [strategy, order] = testing::TestWithParam<std::tuple<StrategyType, CombineOrder>>::GetParam();
  const int ranks = transport.world_size();
  std::vector<float> gradients(weights.size());
  const Plan plan = ToyPlan({.strategy = strategy,
                             .workers = ranks,
                             .period = 4,
                             .layers = {kFloats / 3, 0, kFloats - kFloats / 3},
                             .layers_per_group = 1});
  PeerPlaneOptions options;
  options.order = order;
  WEFT_ASSIGN_OR_RETURN(options.topology, Topology::Make({}, ranks, 1));
  WEFT_ASSIGN_OR_RETURN(
      const std::unique_ptr<DataPlane> plane,
      MakePeerPlane(
          options, plan,
          {.weights = weights, .gradients = gradients, .layers = ToyLayers({kFloats / 3, 0, kFloats - kFloats / 3})},
          [](FloatRange, std::int64_t) {}, transport, Clock::Steady()));
  for (std::int64_t t = 1; t <= kIterations; ++t) {
    WEFT_RETURN_IF_ERROR(plane->BeginIteration(t));
    for (int l = 0; l < 3; ++l) WEFT_RETURN_IF_ERROR(plane->BeforeForward(l));
    Clock::Steady().SleepFor(std::chrono::milliseconds(1));  // compute
    for (int l = 2; l >= 0; --l) WEFT_RETURN_IF_ERROR(plane->GradientReady(l, 0));
    WEFT_RETURN_IF_ERROR(plane->EndIteration().status());
    if (t == kIterations / 2) WEFT_RETURN_IF_ERROR(plane->Drain());
  }
  return plane->Finish();
}

TEST_P(PeerRanksTest, WithoutGradients_KeepTheSumOrComeToTheMean) {
  const StrategyType strategy = std::get<0>(GetParam());
  OnEveryRank([strategy](Transport& transport) {
    const int ranks = transport.world_size();
    std::vector<double> mean(kFloats);
    for (int rank = 0; rank < ranks; ++rank) {
      const std::vector<float> start = StartOf(rank);
      for (std::size_t f = 0; f < mean.size(); ++f) mean[f] += static_cast<double>(start[f]) / ranks;
    }
    std::vector<float> weights = StartOf(transport.rank());
    ASSERT_EQ(Average(transport, weights), OkStatus());
    // The transport is free again.
    std::vector<float> sum = weights;
    ASSERT_EQ(AllReduceAndWait(transport, sum, ranks, Clock::Steady().Now() + std::chrono::seconds(30)), OkStatus());
    double sum_off = 0, model_off = 0;
    for (std::size_t f = 0; f < mean.size(); ++f) {
      sum_off = std::max(sum_off, std::abs(static_cast<double>(sum[f]) / ranks - mean[f]));
      model_off = std::max(model_off, std::abs(static_cast<double>(weights[f]) - mean[f]));
    }
    if (strategy != StrategyType::kSGP) {
      EXPECT_LT(sum_off, 1e-4);
    }
    // A pair's averaging takes as long as it takes.
    if (strategy != StrategyType::kADPSGD && strategy != StrategyType::kAllReduce) {
      EXPECT_LT(model_off, 2e-2);
    }
    if (strategy == StrategyType::kAllReduce) {
      EXPECT_EQ(weights, StartOf(transport.rank()));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Strategies, PeerRanksTest,
                         testing::Values(std::tuple(StrategyType::kAllReduce, CombineOrder::kCombineThenAdapt),
                                         std::tuple(StrategyType::kLocalSGD, CombineOrder::kCombineThenAdapt),
                                         std::tuple(StrategyType::kDPSGD, CombineOrder::kCombineThenAdapt),
                                         std::tuple(StrategyType::kDPSGD, CombineOrder::kAdaptThenCombine),
                                         std::tuple(StrategyType::kSGP, CombineOrder::kCombineThenAdapt),
                                         std::tuple(StrategyType::kADPSGD, CombineOrder::kCombineThenAdapt)));

}  // namespace
}  // namespace weft
