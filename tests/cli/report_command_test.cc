#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/cli/run_weft.h"

namespace weft {
namespace {

using testing::HasSubstr;

class ReportCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "weft_report_XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
    for (const char* run : {"a", "b"}) {
      std::filesystem::create_directory(folder_ + "/" + run);
      std::ofstream(folder_ + "/" + run + "/job.yaml") << "metadata: {name: small}\n";
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

TEST_F(ReportCommandTest, OneRun_GetsItsPageInItsFolder) {
  const CommandOutcome outcome = RunWeft("report " + folder_ + "/a");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "report: " + folder_ + "/a/report.html\n");
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/a/report.html"));
}

TEST_F(ReportCommandTest, SeveralRuns_GoWhereTheyAreTold) {
  const CommandOutcome outcome = RunWeft("report " + folder_ + "/a " + folder_ + "/b --out " + folder_ + "/c.html");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/c.html"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/a/report.html"));
}

TEST_F(ReportCommandTest, WhatIsNoRunDirectory_IsOneLineAndExitCode2) {
  const CommandOutcome no_run = RunWeft("report " + folder_);
  EXPECT_EQ(no_run.exit_code, 2);
  EXPECT_EQ(no_run.err, "weft: " + folder_ + ": holds no run: it has no job.yaml\n");
  const CommandOutcome missing = RunWeft("report " + folder_ + "/a " + folder_ + "/none --out " + folder_ + "/c.html");
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_EQ(missing.err, "weft: " + folder_ + "/none: No such file or directory\n");
  EXPECT_EQ(RunWeft("report").exit_code, 2);
}

TEST_F(ReportCommandTest, PageThatCannotBeWritten_IsNamed) {
  const CommandOutcome outcome = RunWeft("report " + folder_ + "/a --out " + folder_ + "/none/c.html");
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr(folder_ + "/none/c.html"));
}

}  // namespace
}  // namespace weft
