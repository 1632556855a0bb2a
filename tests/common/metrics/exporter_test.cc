#include "common/metrics/exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/common/metrics/http_get.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(MetricsExporterTest, Get_Metrics_ShowsEachSeriesWithTheJob) {
  MetricsRegistry registry("fashion");
  const auto exporter = MetricsExporter::Start(registry, "127.0.0.1", 0);
  ASSERT_TRUE(exporter.ok()) << exporter.status();
  EXPECT_GT((*exporter)->port(), 0);
  registry.MakeCounter(metric::kTransferBytes, {"push", "3"}).Increment(4096);
  registry.MakeGauge(metric::kLoss).Set(0.25);
  registry.MakeHistogram(metric::kIterationSeconds).Observe(0.015);

  const std::string answer = HttpGet((*exporter)->port(), "/metrics");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("# TYPE weft_transfer_bytes_total counter"));
  EXPECT_THAT(answer,
              HasSubstr(R"(weft_transfer_bytes_total{training_job="fashion",direction="push",group="3"} 4096)"));
  EXPECT_THAT(answer, HasSubstr(R"(weft_loss{training_job="fashion"} 0.25)"));
  EXPECT_THAT(answer, HasSubstr(R"(weft_iteration_seconds_bucket{training_job="fashion",le="0.01"} 0)"));
  EXPECT_THAT(answer, HasSubstr(R"(weft_iteration_seconds_bucket{training_job="fashion",le="0.02"} 1)"));
  EXPECT_THAT(answer, HasSubstr(R"(weft_iteration_seconds_count{training_job="fashion"} 1)"));
}

TEST(MetricsExporterTest, Start_PortInUse_IsOneLine) {
  MetricsRegistry registry("job");
  const auto first = MetricsExporter::Start(registry, "127.0.0.1", 0);
  ASSERT_TRUE(first.ok()) << first.status();
  const int port = (*first)->port();
  EXPECT_EQ(MetricsExporter::Start(registry, "127.0.0.1", port).status(),
            UnavailableError("metrics port " + std::to_string(port) + ": address already in use"));
  EXPECT_EQ(MetricsExporter::Start(registry, "0.0.0.0", port).status(),
            UnavailableError("metrics port " + std::to_string(port) + ": address already in use"));
  EXPECT_THAT(HttpGet(port, "/metrics"), StartsWith("HTTP/1.1 200"));
}

TEST(MetricsExporterTest, Destructor_FreesThePort) {
  MetricsRegistry registry("job");
  auto first = MetricsExporter::Start(registry, "127.0.0.1", 0);
  ASSERT_TRUE(first.ok()) << first.status();
  const int port = (*first)->port();
  (*first).reset();
  const auto second = MetricsExporter::Start(registry, "127.0.0.1", port);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ((*second)->port(), port);
}

TEST(MetricsExporterTest, Start_WhatIsNoAddress_IsRefused) {
  MetricsRegistry registry("job");
  EXPECT_EQ(MetricsExporter::Start(registry, "127.0.0.1", 70000).status(),
            InvalidArgumentError("metrics port 70000: is not in [0, 65535]"));
  EXPECT_EQ(MetricsExporter::Start(registry, "here", 0).status(),
            InvalidArgumentError("metrics address: \"here\" is no IPv4 address"));
}

}  // namespace
}  // namespace weft
