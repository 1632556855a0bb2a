#include "coordinator/service/rank_board.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr TimePoint kStart{};

v1::AgentMessage Iteration(std::int64_t iteration, std::int64_t start_ms, std::int64_t stall_ms) {
  v1::AgentMessage message;
  v1::IterationReport& report = *message.mutable_iterations()->add_reports();
  report.set_iteration(iteration);
  report.set_start_ns(start_ms * 1'000'000);
  report.set_end_ns((start_ms + 100) * 1'000'000);
  report.set_stall_ns(stall_ms * 1'000'000);
  report.set_sent_bytes(1000);
  report.set_received_bytes(500);
  report.set_samples(32);
  report.set_staleness_iterations(3);
  v1::Transfer& transfer = *report.add_transfers();
  transfer.set_server(0);
  transfer.set_push_bytes(1000);
  transfer.set_pull_bytes(500);
  return message;
}

TEST(RankBoardTest, Fill_TellsTheLastSecondOfEachRankByItsOwnClock) {
  RankBoard board(2, 1, kStart);
  for (int i = 0; i < 30; ++i) {
    board.Add(0, Iteration(i + 1, i * 100, 25), kStart);
    board.Add(1, Iteration(i + 1, 9'000'000 + i * 100, i < 15 ? 90 : 10), kStart);  // started long before
  }
  v1::Progress progress;
  board.Fill(kStart + std::chrono::seconds(2), &progress);
  ASSERT_EQ(progress.ranks_size(), 3);
  const v1::RankProgress& first = progress.ranks(0);
  EXPECT_EQ(first.state(), v1::RANK_STATE_TRAINING);
  EXPECT_EQ(first.iteration(), 30);
  EXPECT_NEAR(first.iteration_seconds(), 0.1, 1e-9);
  EXPECT_NEAR(first.stall_fraction(), 0.25, 1e-9);
  EXPECT_NEAR(first.sent_bytes_per_second(), 10'000, 1e-6);
  EXPECT_NEAR(first.received_bytes_per_second(), 5'000, 1e-6);
  EXPECT_NEAR(first.staleness_iterations(), 3, 1e-9);
  EXPECT_NEAR(first.silent_seconds(), 2, 1e-9);
  EXPECT_NEAR(progress.ranks(1).stall_fraction(), 0.1, 1e-9);
  EXPECT_NEAR(progress.samples_per_second(), 640, 1e-6);
  // The server receives what both push.
  EXPECT_EQ(progress.ranks(2).state(), v1::RANK_STATE_TRAINING);
  EXPECT_NEAR(progress.ranks(2).received_bytes_per_second(), 20'000, 1e-6);
  EXPECT_NEAR(progress.ranks(2).sent_bytes_per_second(), 10'000, 1e-6);
}

TEST(RankBoardTest, Link_IsTheFastestOfBothItsEnds) {
  RankBoard board(2, 1, kStart);
  for (int worker = 0; worker < 2; ++worker) {
    v1::AgentMessage message;
    message.mutable_link()->set_peer_rank(2);
    v1::LinkSample& sample = *message.mutable_link()->add_samples();
    sample.set_bytes(1'000'000);
    sample.set_seconds(worker == 0 ? 0.1 : 0.4);
    board.Add(worker, message, kStart);
  }
  v1::Progress progress;
  board.Fill(kStart, &progress);
  EXPECT_NEAR(progress.ranks(0).link_bytes_per_second(), 1e7, 1e-3);
  EXPECT_NEAR(progress.ranks(1).link_bytes_per_second(), 2.5e6, 1e-3);
  EXPECT_NEAR(progress.ranks(2).link_bytes_per_second(), 1e7, 1e-3);
}

TEST(RankBoardTest, State_IsWhatARankHasSaidLast) {
  RankBoard board(1, 0, kStart);
  const auto state_after = [&board](const v1::AgentMessage& message) {
    board.Add(0, message, kStart);
    v1::Progress progress;
    board.Fill(kStart, &progress);
    return progress.ranks(0).state();
  };
  v1::AgentMessage message;
  message.mutable_ready();
  EXPECT_EQ(state_after(message), v1::RANK_STATE_READY);
  EXPECT_EQ(state_after(Iteration(1, 0, 0)), v1::RANK_STATE_TRAINING);  // with a server that the job has not
  message.mutable_evaluation_progress();
  EXPECT_EQ(state_after(message), v1::RANK_STATE_EVALUATING);
  message.mutable_sketch();
  EXPECT_EQ(state_after(message), v1::RANK_STATE_EVALUATING);
  message.mutable_pause_vote();
  EXPECT_EQ(state_after(message), v1::RANK_STATE_PAUSED);
  message.mutable_finished();
  EXPECT_EQ(state_after(message), v1::RANK_STATE_ENDED);
}

}  // namespace
}  // namespace weft
