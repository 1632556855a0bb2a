#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/run_weft.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(CliTest, Version_IsPrinted) {
  const CommandOutcome outcome = RunWeft("--version");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, StartsWith("weft "));
  EXPECT_EQ(outcome.err, "");
}

TEST(CliTest, Help_NamesTheProgram) {
  const CommandOutcome outcome = RunWeft("--help");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("weft"));
}

TEST(CliTest, UnknownFlag_IsBadInputInOneLine) {
  const CommandOutcome outcome = RunWeft("--colour");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, StartsWith("weft: "));
  EXPECT_THAT(outcome.err, HasSubstr("--colour"));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
}

TEST(CliTest, NoSubcommand_IsBadInput) {
  const CommandOutcome outcome = RunWeft("");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("subcommand"));
}

TEST(CliTest, UnknownSubcommand_NamesTheNearestOrAll) {
  CommandOutcome outcome = RunWeft("simulte job.yaml");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err, "weft: 'simulte' is no subcommand of weft; is 'simulate' meant?\n");
  outcome = RunWeft("frobnicate");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("'frobnicate' is no subcommand of weft: it has bench, plan, report, run, "));
  outcome = RunWeft("testbed rat");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("'rat' is no subcommand of weft testbed; is 'rate' meant?"));
}

}  // namespace
}  // namespace weft
