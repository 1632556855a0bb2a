#include "common/report/curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

using testing::ElementsAre;
using Json = nlohmann::ordered_json;

// Iterations of 1 ms without a gap, of which 0.25 ms are no computing.
IterationLine Line(std::int64_t iteration, int rank = 0, double loss = 1) {
  return {.iteration = iteration,
          .epoch = 1,
          .rank = rank,
          .start_ns = 5'000'000'000 + (iteration - 1) * 1'000'000,
          .iteration_us = 1000,
          .forward_us = 300,
          .stall_us = 200,
          .communication_us = 250,
          .loss = loss,
          .accuracy = 0.5,
          .staleness = 1};
}

TEST(CurvesTest, AnIterationOfTwoWorkers_IsTheirMeanWithTheSmallestAndTheLargest) {
  Curves curves;
  curves.Add(Line(1, 0, 2));
  curves.Add(Line(1, 1, 4));
  const Json columns = curves.ToJson();
  EXPECT_EQ(columns["iteration"], Json({1}));
  EXPECT_EQ(columns["loss"], Json({3.0}));
  EXPECT_EQ(columns["loss_min"], Json({2.0}));
  EXPECT_EQ(columns["loss_max"], Json({4.0}));
  EXPECT_EQ(columns["compute_us"], Json({750.0}));
  EXPECT_EQ(columns["seconds"], Json({0.001}));
}

TEST(CurvesTest, LongRun_KeepsFewPointsTheMeanAndEverySpike) {
  constexpr std::int64_t kIterations = 100'000;
  Curves curves;
  for (std::int64_t i = 1; i <= kIterations; ++i) curves.Add(Line(i, 0, i == 54'321 ? 1000 : 1));
  const Json columns = curves.ToJson();
  EXPECT_EQ(columns["width"], 128);
  EXPECT_EQ(columns["iteration"].size(), (kIterations + 127) / 128);
  EXPECT_EQ(columns["iteration"].back(), kIterations);
  double largest = 0;
  for (const Json& value : columns["loss_max"]) largest = std::max(largest, value.get<double>());
  EXPECT_EQ(largest, 1000);
  EXPECT_EQ(columns["loss"][0], 1.0);
  EXPECT_NEAR(columns["loss"][54'320 / 128].get<double>(), (127 + 1000) / 128.0, 1e-4);
  EXPECT_LT(columns.dump().size(), 200'000u);
  EXPECT_NEAR(curves.SecondsAt(50'000), 50.0, 0.01);
}

TEST(CurvesTest, ThinnedCurves_AreThoseOfTheSameLinesInAnyOrder) {
  Curves forwards;
  Curves backwards;
  for (std::int64_t i = 1; i <= 5000; ++i) {
    forwards.Add(Line(i, 0, static_cast<double>(i % 17)));
    backwards.Add(Line(5001 - i, 0, static_cast<double>((5001 - i) % 17)));
  }
  EXPECT_EQ(forwards.ToJson()["loss"], backwards.ToJson()["loss"]);
  EXPECT_EQ(forwards.ToJson()["loss_max"], backwards.ToJson()["loss_max"]);
  EXPECT_EQ(forwards.ToJson()["iteration"], backwards.ToJson()["iteration"]);
}

TEST(CurvesTest, LossThatIsNoNumber_IsLeftOutOfTheMean) {
  Curves curves;
  curves.Add(Line(1, 0, std::numeric_limits<double>::quiet_NaN()));
  curves.Add(Line(1, 1, 2));
  curves.Add(Line(2, 0, std::numeric_limits<double>::quiet_NaN()));
  EXPECT_EQ(Json::parse(curves.ToJson()["loss"].dump()), Json({2.0, nullptr}));
}

TEST(CurvesTest, Restart_GoesOnWhereTheTimeEnded) {
  Curves curves;
  curves.Add(Line(1));
  curves.Add(Line(2));
  curves.AddRestart();
  IterationLine later = Line(3);
  later.start_ns = 17;  // the machine was started anew
  curves.Add(later);
  EXPECT_NEAR(curves.SecondsAt(2), 0.002, 1e-9);
  EXPECT_NEAR(curves.SecondsAt(3), 0.003, 1e-9);
}

TEST(CurvesTest, SecondEpoch_TellsHowManyIterationsOneHas) {
  Curves curves;
  EXPECT_EQ(curves.iterations_per_epoch(), 0);
  for (std::int64_t i = 1; i <= 25; ++i) {
    IterationLine line = Line(i);
    line.epoch = 1 + (i - 1) / 10;
    curves.Add(line);
  }
  EXPECT_EQ(curves.iterations_per_epoch(), 10);
}

TEST(CurvesTest, IterationsOutOfRange_AreLeftOutOrKeptWithoutHarm) {
  Curves curves;
  curves.Add(Line(0));
  curves.Add(Line(-3));
  EXPECT_TRUE(std::isnan(curves.SecondsAt(1)));
  IterationLine far = Line(1);
  far.iteration = std::int64_t{1} << 60;
  curves.Add(Line(1));
  curves.Add(far);
  EXPECT_EQ(curves.ToJson()["iteration"].size(), 2u);
}

}  // namespace
}  // namespace weft
