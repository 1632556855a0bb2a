#include "coordinator/launch/remote_shell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<RemoteCommand> Parse(const std::vector<std::string>& words) { return ParseRemoteCommand(words); }

TEST(RemoteShellTest, MpirunsWords_LoseTheSpacesAndQuotesOfAShell) {
  const Result<RemoteCommand> command = Parse({"10.213.0.1", " orted", "-mca", "ess", "\"env\"", "-mca", "orte_hnp_uri",
                                               "\"917504000.0;tcp://10.213.0.254:43567\""});
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->address, "10.213.0.1");
  EXPECT_THAT(command->arguments, ElementsAre("orted", "-mca", "ess", "env", "-mca", "orte_hnp_uri",
                                              "917504000.0;tcp://10.213.0.254:43567"));
}

TEST(RemoteShellTest, OtherPrograms_AreRefused) {
  for (const char* program : {"sh", "/tmp/orted", "PATH=/tmp", "orted;sh"}) {
    const Status status = Parse({"10.213.0.1", program, "-c"}).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << program;
    EXPECT_THAT(status.message(), HasSubstr(program));
  }
}

TEST(RemoteShellTest, WordsThatOnlyAShellUnderstands_AreRefused) {
  for (const char* word : {"$HOME", "`id`", "\"a\"b\"", "a\nb", "'a'"}) {
    EXPECT_EQ(Parse({"10.213.0.1", "orted", word}).status().code(), StatusCode::kInvalidArgument) << word;
  }
}

TEST(RemoteShellTest, NoHostOrNoCommand_IsRefused) {
  EXPECT_EQ(Parse({}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Parse({"10.213.0.1"}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Parse({"", "orted"}).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weft
