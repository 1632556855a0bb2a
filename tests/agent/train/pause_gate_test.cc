#include "agent/train/pause_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace weft {
namespace {

TimePoint Soon() { return Clock::Steady().Now() + std::chrono::seconds(20); }

TEST(PauseGateTest, WaitAtEnd_WithoutProposal_GoesOn) {
  PauseGate gate;
  EXPECT_EQ(gate.WaitAtEnd(1, Soon()).value(), PauseAction::kGoOn);
}

TEST(PauseGateTest, Propose_PassedIteration_IsRefused) {
  PauseGate gate;
  ASSERT_TRUE(gate.WaitAtEnd(1, Soon()).ok());
  ASSERT_TRUE(gate.WaitAtEnd(2, Soon()).ok());
  const PauseGate::Vote vote = gate.Propose(2);
  EXPECT_FALSE(vote.accepted);
  EXPECT_EQ(vote.current_iteration, 3);
  EXPECT_EQ(gate.WaitAtEnd(3, Soon()).value(), PauseAction::kGoOn);
}

TEST(PauseGateTest, WaitAtEnd_ProposedIteration_WaitsForTheCommit) {
  PauseGate gate;
  ASSERT_TRUE(gate.Propose(2).accepted);
  EXPECT_EQ(gate.WaitAtEnd(1, Soon()).value(), PauseAction::kGoOn);
  std::thread coordinator([&] { gate.Commit(2, PauseAction::kCheckpoint); });
  EXPECT_EQ(gate.WaitAtEnd(2, Soon()).value(), PauseAction::kCheckpoint);
  coordinator.join();
  EXPECT_EQ(gate.WaitAtEnd(3, Soon()).value(), PauseAction::kGoOn);
}

TEST(PauseGateTest, Cancel_LetsTheRankGoOn) {
  PauseGate gate;
  ASSERT_TRUE(gate.Propose(1).accepted);
  std::thread coordinator([&] { gate.Cancel(1); });
  EXPECT_EQ(gate.WaitAtEnd(1, Soon()).value(), PauseAction::kGoOn);
  coordinator.join();
}

TEST(PauseGateTest, CommitOfAnotherIteration_IsIgnored) {
  PauseGate gate;
  ASSERT_TRUE(gate.Propose(1).accepted);
  gate.Commit(5, PauseAction::kCheckpointAndStop);
  gate.Commit(1, PauseAction::kCheckpoint);
  EXPECT_EQ(gate.WaitAtEnd(1, Soon()).value(), PauseAction::kCheckpoint);
}

TEST(PauseGateTest, WaitAtEnd_CoordinatorSilent_EndsAtTheDeadline) {
  PauseGate gate;
  ASSERT_TRUE(gate.Propose(1).accepted);
  const Result<PauseAction> action = gate.WaitAtEnd(1, Clock::Steady().Now());
  EXPECT_EQ(action.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(action.status().message(), testing::HasSubstr("iteration 1"));
}

TEST(PauseGateTest, OwnIteration_PausesAtTheEndOfThePresentOne) {
  PauseGate gate;
  ASSERT_TRUE(gate.WaitAtEnd(7, Soon()).ok());
  ASSERT_TRUE(gate.Propose(kOwnIteration).accepted);
  std::thread coordinator([&] { gate.Commit(kOwnIteration, PauseAction::kCheckpoint); });
  EXPECT_EQ(gate.WaitAtEnd(8, Soon()).value(), PauseAction::kCheckpoint);
  coordinator.join();
  EXPECT_EQ(gate.WaitAtEnd(9, Soon()).value(), PauseAction::kGoOn);
}

TEST(PauseGateTest, WaitToFinish_StillPausesAndGoesOnWhenAllAreThere) {
  PauseGate gate;
  ASSERT_TRUE(gate.Propose(kOwnIteration).accepted);
  gate.Commit(kOwnIteration, PauseAction::kCheckpointAndStop);
  EXPECT_EQ(gate.WaitToFinish().value(), PauseAction::kCheckpointAndStop);
  std::thread coordinator([&] { gate.FinishNow(); });
  EXPECT_EQ(gate.WaitToFinish().value(), PauseAction::kGoOn);
  coordinator.join();
}

TEST(PauseGateTest, VerdictToStop_Stays) {
  PauseGate gate;
  EXPECT_FALSE(gate.stop_decided());
  gate.Decide(10, true);
  gate.Decide(20, false);  // of an epoch that another worker had ended before
  EXPECT_TRUE(gate.stop_decided());
}

TEST(PauseGateTest, CloseTwice_TheFirstCauseStays) {
  PauseGate gate;
  gate.Close(UnavailableError("worker 3 is gone"));
  gate.Close(CancelledError("the coordinator ended the stream"));
  EXPECT_EQ(gate.WaitToFinish().status().message(), "worker 3 is gone");
}

TEST(PauseGateTest, Close_EndsTheWaitWithItsCause) {
  PauseGate gate;
  ASSERT_TRUE(gate.Propose(1).accepted);
  std::thread client([&] { gate.Close(UnavailableError("the coordinator is gone")); });
  EXPECT_EQ(gate.WaitAtEnd(1, Soon()).status().message(), "the coordinator is gone");
  client.join();
}

}  // namespace
}  // namespace weft
