#include "coordinator/service/coordinator_metrics.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

v1::Transfer TransferOf(std::uint32_t group, std::uint32_t slot, std::int64_t microseconds) {
  v1::Transfer transfer;
  transfer.set_group(group);
  transfer.set_slot(slot);
  transfer.set_granted_ns(5'000);
  transfer.set_end_ns(5'000 + microseconds * 1'000);
  transfer.set_push_bytes(4'000);
  transfer.set_pull_bytes(1'000);
  return transfer;
}

class CoordinatorMetricsTest : public testing::Test {
 protected:
  double ValueOf(const MetricInfo& metric, std::initializer_list<std::string> labels = {}) {
    return metrics_.registry().MakeGauge(metric, labels).value();
  }

  CoordinatorMetrics metrics_{"job"};
};

TEST_F(CoordinatorMetricsTest, Transfers_GiveTheSlotsBandwidthAndTheGroupsMedianTime) {
  for (const std::int64_t microseconds : {100, 400, 200}) metrics_.AddTransfer(TransferOf(2, 1, microseconds));
  metrics_.AddTransfer(TransferOf(2, 1, 0));  // no time: no bandwidth either
  EXPECT_DOUBLE_EQ(ValueOf(metric::kJobSlotBandwidth, {"2", "1"}),
                   4'000 / 200e-6);  // the latest, of the larger direction
  EXPECT_DOUBLE_EQ(ValueOf(metric::kPlanMeasuredSeconds, {"2"}), 200e-6);
  for (int i = 0; i < 32; ++i) metrics_.AddTransfer(TransferOf(2, 0, 700));  // those before are forgotten
  EXPECT_DOUBLE_EQ(ValueOf(metric::kPlanMeasuredSeconds, {"2"}), 700e-6);
  EXPECT_DOUBLE_EQ(ValueOf(metric::kJobSlotBandwidth, {"2", "1"}), 4'000 / 200e-6);
}

TEST_F(CoordinatorMetricsTest, GroupsPastTheLimit_ShareTheirMean) {
  Plan plan;
  plan.iteration_us = 2'000;
  for (int index = 0; index < kMaximumGroupLabels + 3; ++index) {
    PlanGroup& group = plan.groups.emplace_back();
    group.index = index;
    group.transfer_us = 100.0 * index;
  }
  metrics_.SetPlan(plan);
  EXPECT_DOUBLE_EQ(ValueOf(metric::kPlanPredictedSeconds, {"15"}), 1500e-6);
  EXPECT_DOUBLE_EQ(ValueOf(metric::kPlanPredictedSeconds, {"16"}), 1700e-6);  // of 1600, 1700 and 1800 us
  EXPECT_DOUBLE_EQ(ValueOf(metric::kPlanPredictedIterationSeconds), 2e-3);
  for (const std::uint32_t group : {16u, 40u, 18u}) metrics_.AddTransfer(TransferOf(group, 0, 10 * group));
  EXPECT_DOUBLE_EQ(ValueOf(metric::kPlanMeasuredSeconds, {"16"}), 180e-6);
}

TEST_F(CoordinatorMetricsTest, ProgressAndDrift_AreRatios) {
  Plan plan;
  plan.iteration_us = 2'000;
  metrics_.SetDrift(plan, 2.5e-3);
  metrics_.SetProgress(30, 120);
  EXPECT_DOUBLE_EQ(ValueOf(metric::kPlanDriftRatio), 0.25);
  EXPECT_DOUBLE_EQ(ValueOf(metric::kProgressRatio), 0.25);
}

}  // namespace
}  // namespace weft
