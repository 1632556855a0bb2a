#include "coordinator/planner/fusion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/coordinator/planner/timelines.h"

namespace weft {
namespace {

// Every partition of the layers with parameters, tried one by one.
double EarliestEndByBruteForce(const Timeline& timeline, const Link& link) {
  std::vector<double> ready;
  std::vector<double> bytes;
  for (std::size_t i = timeline.layers.size(); i-- > 0;) {
    const LayerTiming& layer = timeline.layers[i];
    if (layer.bytes == 0) continue;
    ready.push_back(layer.backward_start_us + layer.backward_us);
    bytes.push_back(static_cast<double>(layer.bytes));
  }
  double best = std::numeric_limits<double>::infinity();
  for (std::uint32_t cuts = 0; cuts < 1u << (ready.size() - 1); ++cuts) {
    double end = 0;
    double run = 0;
    for (std::size_t j = 0; j < ready.size(); ++j) {
      run += bytes[j];
      if (j + 1 < ready.size() && (cuts >> j & 1) == 0) continue;
      end = std::max(end, ready[j]) + link.latency_us + link.us_per_byte * run;
      run = 0;
    }
    best = std::min(best, end);
  }
  return best;
}

void ExpectCoversAllLayers(const Timeline& timeline, const std::vector<LayerRun>& runs) {
  int next = static_cast<int>(timeline.layers.size()) - 1;
  for (const LayerRun& run : runs) {
    EXPECT_EQ(run.last_layer, next);
    EXPECT_LE(run.first_layer, run.last_layer);
    std::int64_t bytes = 0;
    for (int i = run.first_layer; i <= run.last_layer; ++i) bytes += timeline.layers[static_cast<std::size_t>(i)].bytes;
    EXPECT_EQ(run.bytes, bytes);
    EXPECT_GT(run.bytes, 0);
    next = run.first_layer - 1;
  }
  EXPECT_EQ(next, -1);
}

TEST(FuseOptimal, ThousandRandomTimelines_EqualsBruteForceAndNeverLosesToGreedy) {
  std::mt19937_64 random(20240601);
  std::uniform_real_distribution<double> exponent(-5, -1);
  std::uniform_real_distribution<double> latency(0, 200);
  for (int round = 0; round < 1000; ++round) {
    const Timeline timeline = RandomTimeline(&random, 12);
    const Link link{.latency_us = round % 10 == 0 ? 0 : latency(random), .us_per_byte = std::pow(10, exponent(random))};
    const std::vector<LayerRun> runs = Fuse(Fusion::kOptimal, timeline, link);
    ExpectCoversAllLayers(timeline, runs);
    const double end = LastTransferEndUs(timeline, runs, link);
    EXPECT_NEAR(end, EarliestEndByBruteForce(timeline, link), 1e-9 * end) << "round " << round;
    for (const Fusion other : {Fusion::kMGWFBP, Fusion::kPerLayer}) {
      const std::vector<LayerRun> others = Fuse(other, timeline, link);
      ExpectCoversAllLayers(timeline, others);
      EXPECT_LE(end, LastTransferEndUs(timeline, others, link) * (1 + 1e-12)) << "round " << round;
    }
  }
}

TEST(Fuse, LayersWithoutParameters_JoinTheGroupBefore) {
  // Backward order: 5 (none), 4, 3 (none), 2 (none), 1, 0 (none). The first group takes layer 5, which none precedes.
  const Timeline timeline = UniformTimeline({0, 40, 0, 0, 80, 0}, 1, 10);
  const std::vector<LayerRun> expected = {{.first_layer = 2, .last_layer = 5, .bytes = 80},
                                          {.first_layer = 0, .last_layer = 1, .bytes = 40}};
  EXPECT_EQ(Fuse(Fusion::kPerLayer, timeline, {}), expected);
}

TEST(Fuse, NoParametersAtAll_IsEmpty) {
  EXPECT_TRUE(Fuse(Fusion::kOptimal, UniformTimeline({0, 0}, 1, 1), {}).empty());
  EXPECT_TRUE(FuseBalanced(UniformTimeline({0, 0}, 1, 1), 3).empty());
}

TEST(FuseMGWFBP, HandExample_MergesWhereWaitingIsCheaperThanLatency) {
  // alpha 15, beta 1 us a byte, gradients at 10, 20, 30, 40. Layer 3 (8 bytes) would be sent from 10 to 33. Layer 2 is
  // ready at 20, before that, and waiting for it costs 10 < 15: they merge, from 20 to 43. Layer 1 is ready at 30,
  // again 10 away: merge, from 30 to 61. Layer 0 is ready at 40: merge.
  const Timeline timeline = UniformTimeline({8, 8, 8, 8}, 1, 10);
  EXPECT_EQ(Fuse(Fusion::kMGWFBP, timeline, {.latency_us = 15, .us_per_byte = 1}).size(), 1u);
  // Latency 9: waiting 10 costs more. Layer 3 goes from 10 to 27, layer 2 (at 20) from 27 to 44; layer 1, ready at 30,
  // finds that transfer begun at 27 and 3 < 9 away: merge, from 30 to 55; layer 0, at 40, is 10 away: apart.
  const std::vector<LayerRun> runs = Fuse(Fusion::kMGWFBP, timeline, {.latency_us = 9, .us_per_byte = 1});
  const std::vector<LayerRun> expected = {{.first_layer = 3, .last_layer = 3, .bytes = 8},
                                          {.first_layer = 1, .last_layer = 2, .bytes = 16},
                                          {.first_layer = 0, .last_layer = 0, .bytes = 8}};
  EXPECT_EQ(runs, expected);
}

TEST(FuseOptimal, FreeLink_SendsTheLastLayerAlone) {
  const Timeline timeline = UniformTimeline({8, 8, 8, 8}, 1, 10);
  const std::vector<LayerRun> runs = Fuse(Fusion::kOptimal, timeline, {.latency_us = 0, .us_per_byte = 0.01});
  EXPECT_EQ(runs.back(), (LayerRun{.first_layer = 0, .last_layer = 0, .bytes = 8}));
}

TEST(FuseBalanced, EqualLayers_GivesEqualRuns) {
  const std::vector<LayerRun> runs = FuseBalanced(UniformTimeline(std::vector<std::int64_t>(12, 4), 1, 1), 4);
  ASSERT_EQ(runs.size(), 4u);
  for (const LayerRun& run : runs) EXPECT_EQ(run.bytes, 12);
}

TEST(FuseBalanced, RandomTimelines_NoRunExceedsItsShareByMoreThanOneLayer) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const Timeline timeline = RandomTimeline(&random, 40);
    std::int64_t largest = 0;
    for (const LayerTiming& layer : timeline.layers) largest = std::max(largest, layer.bytes);
    for (const int parts : {1, 2, 5, 100}) {
      const std::vector<LayerRun> runs = FuseBalanced(timeline, parts);
      ExpectCoversAllLayers(timeline, runs);
      EXPECT_LE(runs.size(), static_cast<std::size_t>(parts));
      for (const LayerRun& run : runs) EXPECT_LE(run.bytes, timeline.total_bytes() / parts + largest + 1);
    }
  }
}

}  // namespace
}  // namespace weft
