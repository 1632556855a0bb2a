#include "coordinator/planner/links.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace weft {
namespace {

std::vector<LinkSample> Line(double alpha_us, double us_per_byte) {
  std::vector<LinkSample> samples;
  for (std::int64_t bytes = 1024; bytes <= 16 << 20; bytes *= 4) {
    samples.push_back({.bytes = bytes, .seconds = 1e-6 * (alpha_us + us_per_byte * static_cast<double>(bytes))});
  }
  return samples;
}

double SquaredError(const Link& link, const std::vector<LinkSample>& samples) {
  double sum = 0;
  for (const LinkSample& sample : samples) {
    const double error = link.latency_us + link.us_per_byte * static_cast<double>(sample.bytes) - sample.seconds * 1e6;
    sum += error * error;
  }
  return sum;
}

TEST(FitLink, SamplesOnALine_GiveTheLine) {
  const Result<Link> link = FitLink(Line(85, 0.008));
  ASSERT_TRUE(link.ok());
  EXPECT_NEAR(link->latency_us, 85, 1e-6);
  EXPECT_NEAR(link->us_per_byte, 0.008, 1e-12);
}

TEST(FitLink, NegativeLatency_IsClampedAndTheRateFittedAgain) {
  const std::vector<LinkSample> samples = {{.bytes = 1000, .seconds = 1e-6}, {.bytes = 3000, .seconds = 9e-6}};
  const Result<Link> link = FitLink(samples);
  ASSERT_TRUE(link.ok());
  EXPECT_EQ(link->latency_us, 0);
  EXPECT_NEAR(link->us_per_byte, (1000 * 1 + 3000 * 9) / 1e7, 1e-15);
}

TEST(FitLink, FallingTimes_GiveLatencyAlone) {
  const std::vector<LinkSample> samples = {{.bytes = 1000, .seconds = 9e-6}, {.bytes = 3000, .seconds = 1e-6}};
  const Result<Link> link = FitLink(samples);
  ASSERT_TRUE(link.ok());
  EXPECT_NEAR(link->latency_us, 5, 1e-12);
  EXPECT_EQ(link->us_per_byte, 0);
}

TEST(FitLink, RandomSamples_NoNonNegativeNeighbourIsBetter) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> noise(0, 400);
  for (int round = 0; round < 100; ++round) {
    std::vector<LinkSample> samples = Line(50, 1e-4);
    for (LinkSample& sample : samples) sample.seconds += 1e-6 * (noise(random) - (round % 2 == 0 ? 150 : 0));
    for (LinkSample& sample : samples) sample.seconds = std::max(0.0, sample.seconds);
    const Result<Link> link = FitLink(samples);
    ASSERT_TRUE(link.ok());
    const double error = SquaredError(*link, samples);
    for (const double da : {-1.0, 0.0, 1.0}) {
      for (const double db : {-1e-7, 0.0, 1e-7}) {
        const Link other{.latency_us = std::max(0.0, link->latency_us + da),
                         .us_per_byte = std::max(0.0, link->us_per_byte + db)};
        EXPECT_GE(SquaredError(other, samples), error * (1 - 1e-9));
      }
    }
  }
}

TEST(FitLink, OneSize_GoesThroughTheOrigin) {
  const std::vector<LinkSample> samples = {{.bytes = 1000, .seconds = 4e-6}, {.bytes = 1000, .seconds = 6e-6}};
  const Result<Link> link = FitLink(samples);
  ASSERT_TRUE(link.ok());
  EXPECT_EQ(link->latency_us, 0);
  EXPECT_NEAR(link->us_per_byte, 0.005, 1e-15);
}

TEST(FitLink, BadSamples_AreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(FitLink({}).ok());
  EXPECT_FALSE(FitLink(std::vector<LinkSample>{{.bytes = 0, .seconds = 1}}).ok());
  EXPECT_FALSE(FitLink(std::vector<LinkSample>{{.bytes = 8, .seconds = -1}}).ok());
  EXPECT_FALSE(FitLink(std::vector<LinkSample>{{.bytes = 8, .seconds = nan}}).ok());
}

TEST(LinkTable, OnePerPair_WorstIsTheLargestOfEach) {
  const Result<LinkTable> table = LinkTable::Make({{{1, 5}, {4, 2}}, {{2, 3}, {3, 1}}, {{0, 0}, {0, 0}}}, 3, 2);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->at(1, 0).latency_us, 2);
  EXPECT_EQ(table->worst().latency_us, 4);
  EXPECT_EQ(table->worst().us_per_byte, 5);
}

TEST(LinkTable, WrongShapeOrValue_IsRefused) {
  EXPECT_EQ(LinkTable::Make({{{}}, {{}}}, 3, 1).status().message(), "links: 2 rows for 3 workers");
  EXPECT_EQ(LinkTable::Make({{{}}, {{}}}, 2, 2).status().message(), "links[0]: 1 links for 2 servers");
  EXPECT_FALSE(LinkTable::Make({}, 1, 1).ok());
  EXPECT_FALSE(LinkTable::Make({{{-1, 0}}}, 1, 1).ok());
  EXPECT_FALSE(LinkTable::Make({{{0, std::nan("")}}}, 1, 1).ok());
}

}  // namespace
}  // namespace weft
