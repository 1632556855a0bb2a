#include "common/metrics/registry.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace weft {
namespace {

TEST(MetricsRegistryTest, SameLabels_AreOneSeries) {
  MetricsRegistry registry("job");
  Counter first = registry.MakeCounter(metric::kTransferBytes, {"push", "3"});
  Counter second = registry.MakeCounter(metric::kTransferBytes, {"push", "3"});
  Counter other = registry.MakeCounter(metric::kTransferBytes, {"pull", "3"});
  first.Increment(10);
  second.Increment(5);
  EXPECT_EQ(first.value(), 15);
  EXPECT_EQ(other.value(), 0);
}

TEST(MetricsRegistryTest, GroupsAndSlotsPastTheLimit_ShareOneSeries) {
  MetricsRegistry registry("job");
  registry.MakeCounter(metric::kTransferBytes, {"push", "15"}).Increment(1);
  registry.MakeCounter(metric::kTransferBytes, {"push", "16"}).Increment(2);
  registry.MakeCounter(metric::kTransferBytes, {"push", "999"}).Increment(4);
  registry.MakeCounter(metric::kTransferBytes, {"push", "-1"}).Increment(8);
  registry.MakeCounter(metric::kTransferBytes, {"push", "x"}).Increment(16);
  EXPECT_EQ(registry.MakeCounter(metric::kTransferBytes, {"push", "15"}).value(), 1);
  EXPECT_EQ(registry.MakeCounter(metric::kTransferBytes, {"push", "other"}).value(), 30);
  registry.MakeGauge(metric::kJobSlotBandwidth, {"0", "63"}).Set(1);
  registry.MakeGauge(metric::kJobSlotBandwidth, {"0", "64"}).Set(2);
  EXPECT_EQ(registry.MakeGauge(metric::kJobSlotBandwidth, {"0", "63"}).value(), 1);
  EXPECT_EQ(registry.MakeGauge(metric::kJobSlotBandwidth, {"0", "other"}).value(), 2);
}

TEST(MetricsRegistryTest, Handles_FromManyThreads_CountAll) {
  MetricsRegistry registry("job");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&registry] {
      Counter counter = registry.MakeCounter(metric::kSlotOverruns);
      Gauge gauge = registry.MakeGauge(metric::kServerConcurrentTransfers, {"push"});
      for (int k = 0; k < 1000; ++k) {
        counter.Increment();
        gauge.Add(1);
        gauge.Add(-1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(registry.MakeCounter(metric::kSlotOverruns).value(), 4000);
  EXPECT_EQ(registry.MakeGauge(metric::kServerConcurrentTransfers, {"push"}).value(), 0);
}

TEST(MetricsRegistryDeathTest, OtherTypeOrNumberOfLabels_EndsTheProcess) {
  MetricsRegistry registry("job");
  EXPECT_DEATH(registry.MakeGauge(metric::kSlotOverruns), "weft_slot_overruns_total is a counter");
  EXPECT_DEATH(registry.MakeCounter(metric::kTransferBytes, {"push"}), "weft_transfer_bytes_total has 2 labels");
}

}  // namespace
}  // namespace weft
