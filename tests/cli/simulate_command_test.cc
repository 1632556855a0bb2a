#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_weft.h"

namespace weft {
namespace {

using testing::HasSubstr;

std::string TimelineFile() {
  const std::string path = testing::TempDir() + "weft_simulate_command.json";
  std::ofstream(path) << R"({"layers": [
    {"name": "a", "bytes": 400000, "forward_us": 3000, "backward_us": 6000},
    {"name": "b", "bytes": 400000, "forward_us": 4000, "backward_us": 8000}]})";
  return path;
}

TEST(SimulateCommand, Json_HasEveryStrategySideBySide) {
  const CommandOutcome outcome = RunWeft("simulate --timeline " + TimelineFile() +
                                         " --workers 4 --servers 1 --period 2 --bandwidth-mbps 500 --json --what-if");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json out = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(out["strategies"].size(), 9u);
  EXPECT_EQ(out["strategies"][0]["strategy"], "InterleavedPS");
  EXPECT_EQ(out["strategies"][0]["period"], 2);
  const double interleaved = out["strategies"][0]["iteration_us"];
  const double merged = out["strategies"][1]["iteration_us"];
  EXPECT_LT(interleaved, merged);
  EXPECT_EQ(out["strategies"][1]["bytes_per_iteration"], 3'200'000);
  EXPECT_EQ(out["strategies"][0]["bytes_per_iteration"], 1'600'000);
  ASSERT_EQ(out["what_if"].size(), 6u);
  EXPECT_GE(out["what_if"][1]["iteration_us"].get<double>(), out["what_if"][0]["iteration_us"].get<double>());
}

TEST(SimulateCommand, OneStrategyWithoutServers_HasItsOwnWhatIfs) {
  const CommandOutcome outcome =
      RunWeft("simulate --timeline " + TimelineFile() +
              " --workers 4 --servers 0 --strategy swarm --local-steps 2 --bits 4 --json --what-if");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json out = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(out["strategies"].size(), 1u);
  EXPECT_EQ(out["strategies"][0]["strategy"], "Swarm");
  EXPECT_EQ(out["strategies"][0]["sent_bytes"].size(), 4u);
  EXPECT_EQ(out["what_if"].back()["what"], "twice the local steps");
  EXPECT_EQ(out["what_if"].back()["period"], 4);
}

TEST(SimulateCommand, NoServers_LeavesOutTheirStrategies) {
  const CommandOutcome outcome = RunWeft("simulate --timeline " + TimelineFile() + " --workers 4 --servers 0");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("AllReduce"));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("InterleavedPS")));
}

TEST(SimulateCommand, WithoutJson_PrintsOneTable) {
  const CommandOutcome outcome = RunWeft("simulate --timeline " + TimelineFile() + " --workers 2 --servers 2");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("BulkSynchronousPS"));
}

TEST(SimulateCommand, BadInput_ExitsWithTwo) {
  const CommandOutcome outcome =
      RunWeft("simulate --timeline " + TimelineFile() + " --workers 2 --servers 1 --jitter -1");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err, "weft: --jitter: -1 is not in 0 .. 1\n");
}

}  // namespace
}  // namespace weft
