#include "coordinator/launch/remote_shell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <sstream>

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
    EXPECT_EQ(Parse({"10.213.0.1", "orted", "-mca", "ess", word}).status().code(), StatusCode::kInvalidArgument)
        << word;
  }
}

TEST(RemoteShellTest, NoHostOrNoCommand_IsRefused) {
  EXPECT_EQ(Parse({}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Parse({"10.213.0.1"}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Parse({"", "orted"}).status().code(), StatusCode::kInvalidArgument);
}

TEST(RemoteShellTest, AllThatMpirunPassesForARun_IsTaken) {
  std::istringstream line(
      "10.213.0.1 orted -mca orte_leave_session_attached \"1\" -mca ess \"env\" -mca ess_base_jobid \"686882816\" "
      "-mca ess_base_vpid 1 -mca ess_base_num_procs \"3\" -mca orte_node_regex "
      "\"vm,[2:10].213.0.1,[2:10].213.0.2@0(3)\" -mca orte_hnp_uri \"686882816.0;tcp://10.213.0.254:51677\" --mca "
      "plm_rsh_agent \"weft-remote-shell\" --mca plm_rsh_no_tree_spawn \"1\" --mca plm_rsh_num_concurrent \"3\" --mca "
      "oob_tcp_if_include \"weft0\" --mca oob_tcp_keepalive_time \"2\" --mca oob_tcp_keepalive_intvl \"1\" --mca "
      "oob_tcp_keepalive_probes \"3\" --mca pml \"ob1\" --mca btl \"tcp,self\" --mca btl_tcp_if_include \"weft0\" "
      "--mca "
      "osc \"^sm\" --mca mpi_yield_when_idle \"1\" -mca plm \"rsh\" -mca rmaps_base_oversubscribe \"1\" -mca "
      "hwloc_base_binding_policy \"none\" -mca pmix \"^s1,s2,cray,isolated\"");
  const std::vector<std::string> words{std::istream_iterator<std::string>(line), {}};
  const Result<RemoteCommand> command = Parse(words);
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->arguments.size(), words.size() - 1);
}

TEST(RemoteShellTest, OtherOptionsOfOrted_AreRefused) {
  for (const std::vector<std::string>& options :
       std::vector<std::vector<std::string>>{{"--daemonize"},
                                             {"--tree-spawn"},
                                             {"-mca", "plm_rsh_agent", "/tmp/agent"},
                                             {"-mca", "orte_launch_agent", "/tmp/orted"},
                                             {"-mca", "ess", "env", "--mca", "mca_base_component_path", "/tmp"},
                                             {"-mca", "ess"},
                                             {"sh"}}) {
    std::vector<std::string> words = {"10.213.0.1", "orted"};
    words.insert(words.end(), options.begin(), options.end());
    EXPECT_EQ(Parse(words).status().code(), StatusCode::kInvalidArgument) << testing::PrintToString(options);
  }
}

}  // namespace
}  // namespace weft
