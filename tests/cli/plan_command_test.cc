#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "common/plan/json.h"
#include "tests/cli/run_weft.h"

namespace weft {
namespace {

using testing::HasSubstr;

std::string FileWith(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "weft_plan_command_" + name;
  std::ofstream(path) << text;
  return path;
}

std::string Lenet() {
  return FileWith("lenet.json", R"({"optimizer_us": 50, "layers": [
    {"name": "conv1", "bytes": 624, "forward_us": 3000, "backward_us": 6000},
    {"name": "conv2", "bytes": 9664, "forward_us": 4000, "backward_us": 8000},
    {"name": "fc1", "bytes": 192480, "forward_us": 800, "backward_us": 1600},
    {"name": "fc2", "bytes": 40656, "forward_us": 300, "backward_us": 600},
    {"name": "fc3", "bytes": 3400, "forward_us": 100, "backward_us": 200}]})");
}

void ExpectBadInput(const std::string& arguments, const std::string& said) {
  const CommandOutcome outcome = RunWeft(arguments);
  EXPECT_EQ(outcome.exit_code, 2) << arguments;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr(said));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

TEST(PlanCommand, Json_ReadsBackAsAPlan) {
  const CommandOutcome outcome =
      RunWeft("plan --timeline " + Lenet() +
              " --workers 4 --servers 2 --period 3 --fusion per-layer --phase formula "
              "--window after-backward --tail half --alpha-us 20 --bandwidth-mbps 100 --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Result<Plan> plan = ParsePlan(outcome.out);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->period, 3);
  EXPECT_EQ(plan->servers, 2);
  EXPECT_EQ(plan->phase, PhaseRule::kFormula);
  ASSERT_EQ(plan->groups.size(), 5u);
  EXPECT_DOUBLE_EQ(plan->groups[2].transfer_us, 20 + 192480 * 0.08);
}

TEST(PlanCommand, WithoutJson_PrintsATableAndOneSentence) {
  const CommandOutcome outcome = RunWeft("plan --timeline " + Lenet() + " --workers 4 --servers 1 --fusion MGWFBP");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("group  phase"));
  EXPECT_THAT(outcome.out, HasSubstr("times the work of one alone"));
}

TEST(PlanCommand, EveryStrategy_IsPlanned) {
  for (const std::string strategy : {"interleaved-ps", "merged-ps", "bulk-synchronous-ps", "swarm", "all-reduce",
                                     "local-sgd", "dpsgd", "adpsgd", "SGP"}) {
    const CommandOutcome outcome = RunWeft(
        "plan --timeline " + Lenet() + " --workers 4 --servers 1 --topology hypercube --json --strategy " + strategy);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Result<Plan> plan = ParsePlan(outcome.out);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_GT(plan->wire_bytes, 0) << strategy;
  }
}

TEST(PlanCommand, Auto_SaysWhatItTookAndTheRunnerUp) {
  const CommandOutcome outcome =
      RunWeft("plan --timeline " + Lenet() + " --workers 4 --servers 0 --strategy auto --bandwidth-mbps 10");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("; the runner-up, "));
}

TEST(PlanCommand, BadInput_IsOneLineAndExitCodeTwo) {
  const std::string good = "--timeline " + Lenet() + " --workers 2 --servers 1 ";
  ExpectBadInput("plan --workers 2 --servers 1", "--timeline");
  ExpectBadInput("plan --timeline /nowhere --workers 2 --servers 1", "/nowhere: No such file or directory");
  ExpectBadInput("plan --timeline " + testing::TempDir() + " --workers 2 --servers 1", "Is a directory");
  ExpectBadInput("plan --timeline " + Lenet() + " --workers 0 --servers 1", "--workers: 0 is below 1");
  ExpectBadInput("plan --timeline " + Lenet() + " --workers 2 --servers 0", "--servers: 0 is below 1");
  ExpectBadInput("plan " + good + "--strategy gossip", "--strategy: gossip is none of Auto, InterleavedPS");
  ExpectBadInput("plan " + good + "--bits 1", "--bits: 1 is neither 0 nor in 2 .. 16");
  ExpectBadInput("plan " + good + "--local-steps 0", "--local-steps: 0 is below 1");
  ExpectBadInput("plan " + good + "--topology star", "--topology: star is none of Complete");
  ExpectBadInput("plan --timeline " + Lenet() + " --workers 3 --topology hypercube",
                 "--topology: topology.type: Hypercube needs a power of two nodes, not 3");
  ExpectBadInput("plan " + good + "--peer-bandwidth-mbps 0", "--peer-bandwidth-mbps: 0");
  ExpectBadInput("plan " + good + "--peer-bandwidth-mbps -1", "--peer-bandwidth-mbps: -1");
  ExpectBadInput("plan " + good + "--peer-alpha-us -inf", "--peer-alpha-us: -inf");
  ExpectBadInput("plan " + good + "--degree -1", "--degree is only for --topology random-regular");
  ExpectBadInput("plan " + good + "--overlap 65", "--overlap: 65 is above 64");
  ExpectBadInput("plan --timeline /dev/zero --workers 2", "/dev/zero: is longer than 67108864 bytes");
  ExpectBadInput("plan " + good + "--period -1", "--period: -1 is below 0");
  ExpectBadInput("plan " + good + "--alpha-us nan", "--alpha-us: nan");
  ExpectBadInput("plan " + good + "--bandwidth-mbps 0", "--bandwidth-mbps: 0");
  ExpectBadInput("plan " + good + "--fusion all", "--fusion: all is none of PerLayer, MGWFBP, Optimal");
  ExpectBadInput("plan --timeline " + FileWith("nan.json", R"({"layers": [{"name": "a", "bytes": NaN}]})") +
                     " --workers 2 --servers 1",
                 "not JSON: line 1");
  ExpectBadInput(
      "plan --timeline " +
          FileWith("negative.json", R"({"layers": [{"name": "a", "bytes": 4, "forward_us": 1, "backward_us": -3}]})") +
          " --workers 2 --servers 1",
      "layers[0].backward_us: -3 is below 0");
}

}  // namespace
}  // namespace weft
