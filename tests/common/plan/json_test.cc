#include "common/plan/json.h"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

Plan TwoGroups() {
  Plan plan;
  plan.workers = 3;
  plan.servers = 2;
  plan.period = 2;
  plan.fusion = Fusion::kMGWFBP;
  plan.window = WindowRule::kAfterBackward;
  plan.tail = Tail::kHalf;
  plan.forward_us = 1.0 / 7;
  plan.compute_us = 1.0 / 3;
  plan.iteration_us = 0.1 + 0.2;
  plan.link_use = 1e-17;
  plan.wire_bytes = 88.0 / 3;
  plan.reason = "Because \"it\" is so.";
  plan.groups.resize(2);
  plan.groups[0] = {.index = 0,
                    .phase = 0,
                    .first_layer = 1,
                    .last_layer = 2,
                    .layers = {"c", "b"},
                    .bytes = 40,
                    .window_from_us = -1.0 / 7,
                    .window_to_us = 2.5,
                    .slot_us = 1e-3,
                    .transfer_us = 7,
                    .stall_us = 0};
  plan.groups[1] = {.index = 1,
                    .phase = 1,
                    .first_layer = 0,
                    .last_layer = 0,
                    .layers = {"a"},
                    .bytes = 8,
                    .window_from_us = 3,
                    .window_to_us = 3,
                    .slot_us = 0,
                    .transfer_us = 2,
                    .stall_us = 11};
  plan.shards = {{.group = 0, .server = 0, .first = 2, .count = 4},
                 {.group = 0, .server = 1, .first = 6, .count = 6},
                 {.group = 1, .server = 1, .first = 0, .count = 2}};
  return plan;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string ErrorOf(const std::string& text) {
  const Result<Plan> plan = ParsePlan(text);
  EXPECT_FALSE(plan.ok());
  if (plan.ok()) return "";
  EXPECT_EQ(plan.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(plan.status().message().find('\n'), std::string::npos);
  return plan.status().message();
}

TEST(PlanJson, RoundTrip_GivesTheSameBits) {
  const Plan plan = TwoGroups();
  const std::string text = PlanToJson(plan);
  const Result<Plan> read = ParsePlan(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(PlanToJson(*read), text);
  EXPECT_EQ(read->forward_us, plan.forward_us);
  EXPECT_EQ(read->compute_us, plan.compute_us);
  EXPECT_EQ(read->iteration_us, plan.iteration_us);
  EXPECT_EQ(read->link_use, plan.link_use);
  EXPECT_EQ(read->wire_bytes, plan.wire_bytes);
  EXPECT_EQ(read->reason, plan.reason);
  EXPECT_EQ(read->fusion, plan.fusion);
  EXPECT_EQ(read->window, plan.window);
  EXPECT_EQ(read->tail, plan.tail);
  ASSERT_EQ(read->groups.size(), 2u);
  EXPECT_EQ(read->groups[0].window_from_us, plan.groups[0].window_from_us);
  EXPECT_EQ(read->groups[0].layers, plan.groups[0].layers);
  ASSERT_EQ(read->shards.size(), 3u);
  EXPECT_EQ(read->shards[1].first, 6);
}

TEST(ParsePlan, BadText_NamesThePlace) {
  const std::string good = PlanToJson(TwoGroups());
  EXPECT_EQ(ErrorOf(""), "not JSON: line 1, column 1");
  EXPECT_EQ(ErrorOf("[]"), "not a JSON object");
  EXPECT_EQ(ErrorOf(Replaced(good, "\"workers\": 3", "\"workers\": 0")), "workers: 0 is below 1");
  EXPECT_EQ(ErrorOf(Replaced(good, "\"period\": 2", "\"period\": -1")), "period: -1 is below 1");
  EXPECT_EQ(ErrorOf(Replaced(good, "\"MGWFBP\"", "\"mgwfbp\"")),
            "fusion: \"mgwfbp\" is none of PerLayer, MGWFBP, Optimal, Balanced");
  EXPECT_EQ(ErrorOf(Replaced(good, "\"index\": 1", "\"index\": 2")), "groups[1].index: 2 is not 1");
  EXPECT_EQ(ErrorOf(Replaced(good, "\"phase\": 1", "\"phase\": 0")),
            "groups[1].phase: 0 is not 1, which the index gives");
  EXPECT_EQ(ErrorOf(Replaced(good, "\"slot_us\"", "\"slot\"")), "groups[0].slot_us: is missing");
  EXPECT_EQ(ErrorOf(Replaced(good, "\"server\": 1", "\"server\": 2")), "shards[1].server: 2 is above 1");
}

TEST(ParsePlan, WhatDoesNotGoWithTheStrategy_IsRefused) {
  Plan plan = TwoGroups();
  plan.quantization_bits = 8;
  EXPECT_EQ(ErrorOf(PlanToJson(plan)), "quantization_bits: 8, but InterleavedPS sends floats");
  plan.strategy = StrategyType::kSwarm;
  EXPECT_EQ(ErrorOf(PlanToJson(plan)), "shards: Swarm has none");
  plan.shards.clear();
  plan.servers = 0;
  EXPECT_EQ(ErrorOf(PlanToJson(plan)), "groups[1].phase: 1 is not 0, which the index gives");
  plan.groups[1].phase = 0;
  EXPECT_TRUE(ParsePlan(PlanToJson(plan)).ok());
  plan.quantization_bits = 1;
  EXPECT_EQ(ErrorOf(PlanToJson(plan)), "quantization_bits: 1 is neither 0 nor in 2..16");
  plan.quantization_bits = 0;
  plan.strategy = StrategyType::kMergedPS;
  EXPECT_EQ(ErrorOf(PlanToJson(plan)), "servers: 0 is below 1, which MergedPS needs");
  plan.strategy = StrategyType::kAuto;
  EXPECT_EQ(ErrorOf(PlanToJson(plan)), "strategy: Auto is none that a plan can have");
}

TEST(ParsePlan, ShardsWithAGapOrOfAnotherGroup_AreRefused) {
  Plan gap = TwoGroups();
  gap.shards[1].first = 7;
  EXPECT_EQ(ErrorOf(PlanToJson(gap)), "shards: none begins at float 6");
  Plan short_of = TwoGroups();
  short_of.shards[1].count = 5;
  EXPECT_EQ(ErrorOf(PlanToJson(short_of)), "shards: do not hold all floats of group 0");
  Plan swapped = TwoGroups();
  swapped.shards[2].group = 0;
  EXPECT_EQ(ErrorOf(PlanToJson(swapped)), "shards: float 0 is not of group 0");
  Plan none = TwoGroups();
  none.shards.clear();
  EXPECT_EQ(ErrorOf(PlanToJson(none)), "shards: do not hold all floats of group 1");
}

TEST(ParsePlan, CutAnywhere_IsRefused) {
  const std::string good = PlanToJson(TwoGroups());
  for (std::size_t size = 0; size + 2 < good.size(); ++size) {
    ASSERT_FALSE(ParsePlan(good.substr(0, size)).ok()) << size;
  }
}

}  // namespace
}  // namespace weft
