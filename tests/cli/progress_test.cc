#include "cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using testing::HasSubstr;
using testing::Not;

v1::Progress Midway() {
  v1::Progress progress;
  progress.set_epoch(2);
  progress.set_epochs(10);
  progress.set_iteration(471);
  progress.set_iterations(2340);
  progress.set_loss(0.5123);
  progress.set_accuracy(0.841);
  progress.set_iteration_seconds(0.0121);
  progress.set_compute_seconds(0.0119);
  progress.set_stall_fraction(0.012);
  progress.set_bytes_per_second(35.2e6);
  progress.set_seconds_left(83);
  return progress;
}

TEST(ProgressTest, Line_WithoutLimit_TellsEverything) {
  EXPECT_EQ(ProgressLine(Midway(), 0),
            "epoch 2/10  iteration 471/2340  loss 0.5123  accuracy 84.10 %  iteration 12.1 ms (compute 11.9 ms)  "
            "stall 1.2 %  35.2 MB/s  1:23 left");
}

TEST(ProgressTest, Line_FitsEveryWidthAndKeepsTheIterationLongest) {
  for (std::size_t width = 1; width < 160; ++width) EXPECT_LE(ProgressLine(Midway(), width).size(), width);
  EXPECT_EQ(ProgressLine(Midway(), 20), "iteration 471/2340");
  EXPECT_THAT(ProgressLine(Midway(), 79), HasSubstr("accuracy"));
  EXPECT_THAT(ProgressLine(Midway(), 79), Not(HasSubstr("MB/s")));
}

TEST(ProgressTest, Line_WorkersWithTheirOwnModels_ShowsTheirVariance) {
  v1::Progress progress = Midway();
  progress.set_model_variance(0.04217);
  EXPECT_THAT(ProgressLine(progress, 0), HasSubstr("35.2 MB/s  \u0393 0.0422  1:23 left"));
  // The Greek letter takes one column.
  const std::string whole = ProgressLine(progress, 0);
  EXPECT_EQ(ProgressLine(progress, whole.size() - 1), whole);
  EXPECT_THAT(ProgressLine(progress, whole.size() - 2), Not(HasSubstr("\u0393")));
  progress.set_model_variance(0);
  EXPECT_THAT(ProgressLine(progress, 0), Not(HasSubstr("\u0393")));
}

TEST(ProgressTest, Line_BeforeTheFirstEvaluation_HasNoAccuracy) {
  v1::Progress progress = Midway();
  progress.set_accuracy(-1);
  EXPECT_THAT(ProgressLine(progress, 0), Not(HasSubstr("accuracy")));
}

TEST(ProgressTest, Clock_ShowsHoursOnlyWhenThereAreAny) {
  EXPECT_EQ(ShowClock(0), "0:00");
  EXPECT_EQ(ShowClock(59.6), "1:00");
  EXPECT_EQ(ShowClock(3723), "1:02:03");
  EXPECT_EQ(ShowClock(-1), "0:00");
}

TEST(ProgressTest, Summary_HoldsTheIterationAgainstComputeAlone) {
  const std::string text = SummaryText(R"({"epochs": 2, "iterations": 938, "seconds": 49.0, "images_per_second": 2262.4,
    "loss": 0.3513, "accuracy": 0.8738, "iteration_seconds": {"median": 0.024, "p95": 0.03},
    "compute_seconds": {"median": 0.012, "p95": 0.013}, "stall_fraction": 0.443, "bytes_per_iteration": 23400000})");
  EXPECT_THAT(text, HasSubstr("2 epochs, 938 iterations in 0:49"));
  EXPECT_THAT(text, HasSubstr("accuracy 87.38 %"));
  EXPECT_THAT(text, HasSubstr("2.00 times the compute alone"));
}

TEST(ProgressTest, LossThatDiverged_IsToldAsSuch) {
  v1::Progress progress = Midway();
  progress.set_loss(1.9e35);
  EXPECT_THAT(ProgressLine(progress, 0), HasSubstr("  loss 1.9e+35  "));
  const std::string text = SummaryText(R"({"epochs": 1, "iterations": 9, "seconds": 1, "images_per_second": 1,
    "loss": null, "accuracy": 0.1, "worst_accuracy": null, "iteration_seconds": {"median": 1, "p95": 1},
    "compute_seconds": {"median": 1, "p95": 1}, "stall_fraction": 0, "bytes_per_iteration": 0})");
  EXPECT_THAT(text, HasSubstr("a loss that is not a number, accuracy 10.00 %"));
}

TEST(ProgressTest, Success_IsToldByTheExitCodeAlone) {
  EXPECT_TRUE(TellsSuccess(R"({"exit_code": 0})"));
  for (const char* other : {R"({"exit_code": 1})", R"({"exit_code": 130})", "{}", "[0]", "", "{"}) {
    EXPECT_FALSE(TellsSuccess(other)) << other;
  }
}

}  // namespace
}  // namespace weft
