#include "agent/model/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/agent/model/model_testing.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Timeline TwoLayers() {
  Timeline timeline;
  timeline.layers = {
      {.name = "a", .bytes = 40, .forward_us = 100, .backward_us = 300, .backward_start_us = 250},
      {.name = "b", .bytes = 0, .forward_us = 50, .backward_us = 200, .backward_start_us = 0},
  };
  timeline.end_us = 550;
  return timeline;
}

// Notes the clock at each event, and can take time in one.
class TimingObserver : public LayerObserver {
 public:
  explicit TimingObserver(ManualClock& clock) : clock_(clock) {}
  Status BeforeForward(int layer) override {
    if (layer == 1) clock_.Advance(stall);
    return Note();
  }
  Status AfterForward(int) override { return Note(); }
  Status BeforeBackward(int) override { return Note(); }
  Status GradientReady(int) override { return Note(); }

  std::vector<double> times_us;
  Duration stall{};

 private:
  Status Note() {
    times_us.push_back(ToMicroseconds(clock_.Now() - start_));
    return OkStatus();
  }
  ManualClock& clock_;
  const TimePoint start_ = clock_.Now();
};

class ReplayTest : public ::testing::Test {
 protected:
  ManualClock clock_;
  std::unique_ptr<Model> model_ = MakeReplay(TwoLayers(), clock_);
  TimingObserver observer_{clock_};
};

TEST_F(ReplayTest, TrainStep_ByTheTimeline_AnnouncesAtItsTimes) {
  const Result<BatchResult> result =
      model_->TrainStep({.size = 3, .inputs = {}, .labels = {}, .tokens = {}}, observer_);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->predictions, 3);
  // Forward a and b, backward b, a pause of 50 us, backward a.
  EXPECT_THAT(observer_.times_us, ElementsAre(0, 100, 100, 150, 150, 350, 400, 700));
  EXPECT_THAT(model_->gradients(), ::testing::Each(0.0F));
  EXPECT_EQ(model_->layers()[0].count, 10);
  EXPECT_EQ(model_->layers()[1].count, 0);
}

TEST_F(ReplayTest, TrainStep_WhenTheObserverStalls_MovesWhatFollowsByIt) {
  observer_.stall = FromMicroseconds(1000);
  ASSERT_TRUE(model_->TrainStep({.size = 3, .inputs = {}, .labels = {}, .tokens = {}}, observer_).ok());
  EXPECT_THAT(observer_.times_us, ElementsAre(0, 100, 1100, 1150, 1150, 1350, 1400, 1700));
}

// Wakes up 30 us late.
class LateClock : public ManualClock {
 public:
  void SleepUntil(TimePoint time) override { ManualClock::SleepUntil(time + FromMicroseconds(30)); }
};

TEST(Replay, TrainStep_WhenEachSleepIsLate_EndsLateOnlyOnce) {
  LateClock clock;
  const std::unique_ptr<Model> model = MakeReplay(TwoLayers(), clock);
  TimingObserver observer(clock);
  ASSERT_TRUE(model->TrainStep({.size = 1, .inputs = {}, .labels = {}, .tokens = {}}, observer).ok());
  EXPECT_EQ(observer.times_us.back(), 730);
}

TEST_F(ReplayTest, TrainStep_WithEmptyBatch_TellsAllAndSleepsNot) {
  ASSERT_TRUE(model_->TrainStep(Batch{}, observer_).ok());
  EXPECT_THAT(observer_.times_us, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
}

TEST_F(ReplayTest, Evaluate_OfABatch_SleepsForOneForward) {
  const TimePoint start = clock_.Now();
  EXPECT_EQ(model_->Evaluate({.size = 9, .inputs = {}, .labels = {}, .tokens = {}})->predictions, 9);
  EXPECT_EQ(ToMicroseconds(clock_.Now() - start), 150);
}

TEST(MakeReplay, Timeline_WithBadValues_IsRefusedByLayer) {
  ModelSpec spec;
  spec.name = ModelType::kReplay;
  ReplayInput replay;
  EXPECT_THAT(MakeModel(spec, {}, replay).status().message(), HasSubstr("no layers"));
  replay.timeline = TwoLayers();
  EXPECT_TRUE(MakeModel(spec, {}, replay).ok());
  replay.timeline.layers[1].bytes = 6;
  EXPECT_THAT(MakeModel(spec, {}, replay).status().message(), HasSubstr("layer b: bytes: 6"));
  replay.timeline = TwoLayers();
  replay.timeline.layers[0].forward_us = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(MakeModel(spec, {}, replay).status().code(), StatusCode::kInvalidArgument);
  replay.timeline = TwoLayers();
  replay.timeline.end_us = -1;
  EXPECT_EQ(MakeModel(spec, {}, replay).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weft
