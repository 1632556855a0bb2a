#include "cli/top_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/progress.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::Not;

TopState Midway(int workers) {
  TopState state;
  state.stage = "training";
  state.note = "5 ranks share 2 processors";
  Plan& plan = state.plan.emplace();
  plan.strategy = StrategyType::kInterleavedPS;
  plan.period = 4;
  plan.iteration_us = 12'000;
  PlanGroup& group = plan.groups.emplace_back();
  group.bytes = 1'000'000;
  group.transfer_us = 10'000;
  state.membership.set_job("fashion-mnist");
  v1::Progress& progress = state.progress.emplace();
  progress.set_epoch(2);
  progress.set_epochs(10);
  progress.set_iteration(471);
  progress.set_iterations(2340);
  progress.set_loss(0.5123);
  progress.set_accuracy(0.841);
  progress.set_iteration_seconds(0.0126);
  progress.set_compute_seconds(0.0119);
  progress.set_stall_fraction(0.012);
  progress.set_bytes_per_second(35.2e6);
  progress.set_seconds_left(83);
  progress.set_samples_per_second(9053);
  progress.set_model_variance(0.361);
  for (int rank = 0; rank <= workers; ++rank) {
    v1::Member& member = *state.membership.add_members();
    member.set_role(rank < workers ? v1::ROLE_WORKER : v1::ROLE_SERVER);
    member.set_index(static_cast<std::uint32_t>(rank < workers ? rank : 0));
    member.set_host("node-" + std::to_string(rank));
    v1::RankProgress& now = *progress.add_ranks();
    now.set_state(v1::RANK_STATE_TRAINING);
    now.set_sent_bytes_per_second(20e6);
    now.set_received_bytes_per_second(10e6);
    if (rank == workers) continue;
    now.set_iteration(471 + rank);
    now.set_iteration_seconds(0.0126);
    now.set_stall_fraction(0.012);
    now.set_staleness_iterations(4);
  }
  return state;
}

std::string Text(const std::vector<TopLine>& lines) {
  std::string text;
  for (const TopLine& line : lines) text += line.text + "\n";
  return text;
}

std::string LineWith(const std::string& words, const std::vector<TopLine>& lines) {
  for (const TopLine& line : lines) {
    if (line.text.find(words) != std::string::npos) return line.text;
  }
  return "";
}

TEST(TopViewTest, Wide_TellsAllOfTheJobAndOfEachRank) {
  const std::vector<TopLine> lines = RenderTop(Midway(2), {.rows = 24, .columns = 200}, 0);
  ASSERT_EQ(lines.size(), 24u);
  EXPECT_EQ(lines[0].text, "weft top  fashion-mnist  InterleavedPS T=4  training");
  EXPECT_EQ(lines[1].text, "epoch 2/10  iteration 471/2340  20 %  1:23 left");
  EXPECT_EQ(lines[2].text, "loss 0.5123  accuracy 84.10 %  9053 images/s  \u0393 0.361");
  EXPECT_EQ(lines[3].text, "iteration 12.6 ms  compute 11.9 ms  plan 12.0 ms  drift +5.0 %  stall 1.2 %  35.2 MB/s");
  EXPECT_EQ(lines[4].text, "5 ranks share 2 processors");
  EXPECT_EQ(lines[5].text,
            "RANK      HOST    STATE     ITER    MS  xCOMP  STALL  OUT MB/s  IN MB/s  LINK  STALE  SEEN");
  EXPECT_EQ(lines[6].text,
            "worker 0  node-0  training   471  12.6   1.06  1.2 %      20.0     10.0  20 %    4.0   0 s");
  // The plan's rate is 100 MB/s. What a server has none of is left open.
  EXPECT_EQ(lines[8].text,
            "server 0  node-2  serving      -     -      -      -      20.0     10.0  20 %      -   0 s");
  EXPECT_EQ(lines[23].text, "q quits");
}

TEST(TopViewTest, AnyWidth_FitsAndKeepsWhatMattersMost) {
  for (const std::size_t columns : {1u, 10u, 20u, 40u, 80u, 200u}) {
    for (const std::size_t rows : {1u, 2u, 3u, 5u, 24u, 60u}) {
      const std::vector<TopLine> lines = RenderTop(Midway(8), {.rows = rows, .columns = columns}, 0);
      EXPECT_EQ(lines.size(), rows);
      for (const TopLine& line : lines) EXPECT_LE(ColumnsOf(line.text), columns) << line.text;
    }
  }
  const std::string narrow = Text(RenderTop(Midway(8), {.rows = 30, .columns = 40}, 0));
  EXPECT_THAT(narrow, HasSubstr("worker 7"));
  EXPECT_THAT(narrow, HasSubstr("ITER"));
  EXPECT_THAT(narrow, HasSubstr("\u0393 0.361"));  // in a further line
  EXPECT_THAT(narrow, Not(HasSubstr("HOST")));
  const std::string usual = Text(RenderTop(Midway(8), {.rows = 24, .columns = 80}, 0));
  EXPECT_THAT(usual, HasSubstr("LINK"));
  EXPECT_THAT(usual, Not(HasSubstr("STALE")));
}

TEST(TopViewTest, MoreRanksThanRows_Scroll) {
  const TopState state = Midway(100);
  const TopSize size{.rows = 24, .columns = 80};
  const TopScroll scroll = ScrollOf(state, size);
  EXPECT_EQ(scroll.largest + scroll.page, 101u);
  const std::vector<TopLine> top = RenderTop(state, size, 0);
  EXPECT_NE(LineWith("worker 0 ", top), "");
  EXPECT_EQ(LineWith("server 0", top), "");
  EXPECT_EQ(top.back().text, "ranks 1-" + std::to_string(scroll.page) + " of 101, arrows scroll, q quits");
  EXPECT_NE(LineWith("worker 7 ", RenderTop(state, size, 7)), "");
  EXPECT_EQ(LineWith("worker 6 ", RenderTop(state, size, 7)), "");
  // Too far is the end.
  EXPECT_NE(LineWith("server 0", RenderTop(state, size, scroll.largest)), "");
  EXPECT_EQ(Text(RenderTop(state, size, 5000)), Text(RenderTop(state, size, scroll.largest)));
  // Without a limit all are there.
  EXPECT_NE(LineWith("server 0", RenderTop(state, {}, 0)), "");
  EXPECT_EQ(ScrollOf(Midway(2), size).largest, 0u);
}

TEST(TopViewTest, BeforeTraining_ShowsTheStageAndWhoIsThere) {
  TopState state;
  EXPECT_EQ(RenderTop(state, {.rows = 4, .columns = 80}, 0).size(), 4u);
  v1::RunEvent event;
  event.mutable_stage()->set_text("measuring links: 3 of 4");
  Take(event, &state);
  event.mutable_membership()->set_job("small");
  event.mutable_membership()->add_members()->set_host("here");
  Take(event, &state);
  const std::vector<TopLine> lines = RenderTop(state, {}, 0);
  EXPECT_EQ(lines[0].text, "weft top  small  measuring links: 3 of 4");
  EXPECT_THAT(LineWith("worker 0", lines), HasSubstr("here"));
}

TEST(TopViewTest, WhatIsWrong_StandsOut) {
  TopState state = Midway(2);
  state.progress->mutable_ranks(1)->set_stall_fraction(0.5);
  std::vector<TopLine> lines = RenderTop(state, {.rows = 24, .columns = 200}, 0);
  EXPECT_EQ(lines[6].style, TopStyle::kPlain);
  EXPECT_EQ(lines[7].style, TopStyle::kWarning);
  state.progress_age_seconds = 12;  // nobody has said anything since
  lines = RenderTop(state, {.rows = 24, .columns = 200}, 0);
  EXPECT_EQ(LineWith("no iteration", lines), "no iteration has ended for 12 s");
  EXPECT_THAT(LineWith("worker 0", lines), HasSubstr("12 s"));
  state.lost = true;
  lines = RenderTop(state, {.rows = 24, .columns = 200}, 0);
  EXPECT_THAT(lines[0].text, HasSubstr("coordinator lost"));
}

TEST(TopViewTest, TextOfOthers_MovesNoCursor) {
  TopState state = Midway(1);
  state.note = "a\033[2Jb\nc";
  EXPECT_EQ(LineWith("[2J", RenderTop(state, {}, 0)), "a?[2Jb?c");
}

}  // namespace
}  // namespace weft
