#include "coordinator/service/run_statistics.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

v1::IterationReport Report(std::int64_t iteration, std::int64_t start_ms, std::int64_t milliseconds) {
  v1::IterationReport report;
  report.set_iteration(iteration);
  report.set_epoch(1);
  report.set_start_ns(start_ms * 1'000'000);
  report.set_end_ns((start_ms + milliseconds) * 1'000'000);
  report.set_samples(10);
  report.set_loss_sum(20);
  report.set_predictions(10);
  return report;
}

TEST(QuantilesTest, NoValues_AreZero) {
  EXPECT_EQ(QuantilesOf({}).median, 0);
  EXPECT_EQ(QuantilesOf({}).p95, 0);
}

TEST(QuantilesTest, BetweenRanks_AreInterpolated) {
  const Quantiles quantiles = QuantilesOf({4, 1, 3, 2});
  EXPECT_DOUBLE_EQ(quantiles.median, 2.5);
  EXPECT_DOUBLE_EQ(quantiles.p95, 3.85);
}

TEST(RunStatisticsTest, Now_FewLongIterations_CountInTheTimeLeft) {
  RunStatistics statistics(0);
  statistics.Add(0, Report(1, 0, 10));
  statistics.Add(0, Report(2, 10, 10));
  statistics.Add(0, Report(3, 20, 100));
  const v1::Progress progress = statistics.Now(10, 13, 0.01);
  EXPECT_DOUBLE_EQ(progress.iteration_seconds(), 0.01);  // the median
  EXPECT_DOUBLE_EQ(progress.seconds_left(), 0.4);        // ten times the mean
  EXPECT_EQ(progress.epochs(), 2);                       // of ten iterations, and of three
  EXPECT_DOUBLE_EQ(statistics.recent_mean_seconds(), 0.04);
}

TEST(RunStatisticsTest, Now_LooksAtTheLastSecondOnly) {
  RunStatistics statistics(0);
  statistics.Add(0, Report(1, 0, 500));
  statistics.Add(0, Report(2, 5000, 100));
  statistics.Add(0, Report(3, 5100, 100));
  const v1::Progress progress = statistics.Now(10, 13, 0.09);
  EXPECT_EQ(progress.iteration(), 3);
  EXPECT_DOUBLE_EQ(progress.iteration_seconds(), 0.1);
  EXPECT_DOUBLE_EQ(progress.seconds_left(), 1.0);
  EXPECT_DOUBLE_EQ(progress.loss(), 2.0);
  EXPECT_LT(progress.accuracy(), 0);
}

TEST(RunStatisticsTest, Now_WorkersInDifferentEpochs_TellsTheSlowestsEpochAndIteration) {
  RunStatistics statistics(0);
  v1::IterationReport ahead = Report(7, 0, 10);
  ahead.set_epoch(4);
  statistics.Add(0, ahead);
  statistics.Add(1, Report(2, 0, 10));
  const v1::Progress progress = statistics.Now(10, 20, 0.01);
  EXPECT_EQ(progress.iteration(), 2);
  EXPECT_EQ(progress.epoch(), 1);
}

TEST(RunStatisticsTest, Totals_AddUpAllWorkers) {
  RunStatistics statistics(0);
  for (int worker = 0; worker < 2; ++worker) {
    v1::IterationReport report = Report(1, 0, 100);
    report.set_stall_ns(25'000'000);
    report.set_staleness_iterations(worker * 2);
    report.set_sent_bytes(300);
    report.set_received_bytes(200);
    statistics.Add(worker, report);
  }
  const RunTotals totals = statistics.Totals(/*iterations_per_epoch=*/40);
  EXPECT_EQ(totals.iterations, 1);
  EXPECT_EQ(totals.samples, 20);
  EXPECT_DOUBLE_EQ(totals.seconds, 0.1);
  EXPECT_DOUBLE_EQ(totals.stall_fraction, 0.25);
  EXPECT_DOUBLE_EQ(totals.bytes_per_iteration, 1000);
  EXPECT_DOUBLE_EQ(totals.staleness_mean, 1);
  EXPECT_DOUBLE_EQ(totals.staleness_max, 2);
}

TEST(RunStatisticsTest, Resumed_CountsBytesOverItsOwnIterations) {
  RunStatistics statistics(100);
  v1::IterationReport report = Report(101, 0, 100);
  report.set_sent_bytes(300);
  statistics.Add(0, report);
  EXPECT_EQ(statistics.Totals(/*iterations_per_epoch=*/40).iterations, 101);
  EXPECT_DOUBLE_EQ(statistics.Totals(/*iterations_per_epoch=*/40).bytes_per_iteration, 300);
}

// As the checkpoint that such a run leaves.
TEST(RunStatisticsTest, Totals_WorkersAtDifferentIterations_AreTheSlowests) {
  RunStatistics statistics(0);
  statistics.Add(0, Report(130, 0, 100));
  statistics.Add(1, Report(85, 0, 100));
  EXPECT_EQ(statistics.Totals(40).iterations, 85);
  EXPECT_EQ(statistics.Totals(40).epochs, 2);
}

TEST(RunStatisticsTest, Totals_ResumedWorkerThatHasNotReported_CountsWhereItWas) {
  RunStatistics statistics(85, {130, 85});
  EXPECT_FALSE(statistics.trained());
  EXPECT_EQ(statistics.Totals(40).iterations, 85);
  statistics.Add(0, Report(131, 0, 100));
  EXPECT_TRUE(statistics.trained());
  EXPECT_EQ(statistics.Totals(40).iterations, 85);
  EXPECT_EQ(statistics.Totals(40).epochs, 2);
  EXPECT_EQ(statistics.Now(10, 400, 0.01).iteration(), 131);  // of those that train already
}

TEST(RunStatisticsTest, NothingHappened_IsAllZero) {
  const RunTotals totals = RunStatistics(0).Totals(/*iterations_per_epoch=*/40);
  EXPECT_EQ(totals.iterations, 0);
  EXPECT_EQ(totals.seconds, 0);
  EXPECT_EQ(totals.iteration_seconds.median, 0);
}

}  // namespace
}  // namespace weft
