#include "coordinator/service/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weft {
namespace {

using testing::ElementsAre;
using Json = nlohmann::json;

Plan TwoGroups() {
  Plan plan;
  plan.workers = 2;
  plan.groups.resize(2);
  plan.groups[0].slot_us = 10;
  plan.groups[1].index = 1;
  return plan;
}

v1::IterationReport Report(std::int64_t iteration) {
  v1::IterationReport report;
  report.set_iteration(iteration);
  report.set_start_ns(1'000'000 + iteration * 100'000);
  report.set_forward_end_ns(report.start_ns() + 30'000);
  report.set_end_ns(report.start_ns() + 100'000);
  return report;
}

void AddTransfer(v1::IterationReport& report, std::uint32_t group, std::uint32_t server, std::int64_t granted_ns,
                 std::int64_t length_ns) {
  v1::Transfer& transfer = *report.add_transfers();
  transfer.set_group(group);
  transfer.set_server(server);
  transfer.set_planned_start_ns(granted_ns - 2000);
  transfer.set_start_ns(granted_ns - 1000);
  transfer.set_granted_ns(granted_ns);
  transfer.set_end_ns(granted_ns + length_ns);
}

std::vector<std::string> ThreadNames(const Json& trace, int process) {
  std::vector<std::string> names;
  for (const Json& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name" && event["pid"] == process) names.push_back(event["args"]["name"]);
  }
  return names;
}

std::vector<Json> Slices(const Json& trace, int process, int thread) {
  std::vector<Json> slices;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X" && event["pid"] == process && event["tid"] == thread) slices.push_back(event);
  }
  return slices;
}

TEST(TraceFileTest, Iteration_EnclosesForwardAndBackward) {
  TraceCollector collector;
  collector.Add(1, Report(2));
  collector.Add(1, Report(1));
  const Json trace = Json::parse(collector.ToJson({TwoGroups()}));
  const std::vector<Json> slices = Slices(trace, 1, 0);
  ASSERT_EQ(slices.size(), 6u);
  EXPECT_EQ(slices[0]["name"], "iteration 1");
  EXPECT_EQ(slices[0]["ts"], 0.0);
  EXPECT_EQ(slices[0]["dur"], 100.0);
  EXPECT_EQ(slices[1]["name"], "forward");
  EXPECT_EQ(slices[2]["name"], "backward");
  EXPECT_EQ(slices[2]["ts"], 30.0);
  EXPECT_EQ(slices[3]["name"], "iteration 2");
  EXPECT_EQ(slices[3]["ts"], 100.0);
}

TEST(TraceFileTest, TransfersOfAGroupThatOverlap_StandOnSeveralThreads) {
  TraceCollector collector;
  v1::IterationReport report = Report(1);
  AddTransfer(report, 0, 1, 1'130'000, 20'000);  // to another server, at the same time
  AddTransfer(report, 0, 0, 1'120'000, 20'000);
  AddTransfer(report, 0, 0, 1'140'000, 5'000);
  AddTransfer(report, 1, 0, 1'120'000, 5'000);
  AddTransfer(report, 9, 0, 1'120'000, 5'000);  // the plan has no such group
  collector.Add(0, report);
  const Json trace = Json::parse(collector.ToJson({TwoGroups()}));
  EXPECT_THAT(ThreadNames(trace, 0), ElementsAre("compute", "slots of group 0", "transfers of group 0",
                                                 "transfers of group 0 (2)", "transfers of group 1"));
  const std::vector<Json> first = Slices(trace, 0, 2);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0]["ts"], 20.0);
  EXPECT_EQ(first[1]["ts"], 40.0);
  EXPECT_EQ(first[1]["args"]["grant_wait_us"], 1.0);
  EXPECT_EQ(first[1]["args"]["start_error_us"], 1.0);
  EXPECT_EQ(Slices(trace, 0, 1).size(), 3u);
}

TEST(TraceFileTest, LongRun_HasItsFirstAndItsLastReports) {
  TraceCollector collector;
  for (int i = 1; i <= 5000; ++i) collector.Add(0, Report(i));
  const std::vector<Json> slices = Slices(Json::parse(collector.ToJson({TwoGroups()})), 0, 0);
  EXPECT_EQ(slices.size(), 3u * 2000);
  EXPECT_EQ(slices.front()["name"], "iteration 1");
  EXPECT_EQ(slices[3 * 1000]["name"], "iteration 4001");
}

TEST(TraceFileTest, NoReports_MakeATraceWithNames) {
  const Json trace = Json::parse(TraceCollector().ToJson({TwoGroups()}));
  EXPECT_EQ(trace["traceEvents"].size(), 2u);
}

}  // namespace
}  // namespace weft
