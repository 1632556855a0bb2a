#include "coordinator/launch/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace weft {
namespace {

using testing::Contains;
using testing::Not;
using testing::Pair;

RankLaunch FourWorkersAndAServer() {
  return {.agent_path = "/opt/weft-agent",
          .coordinator_address = "unix:/tmp/weft-x/c",
          .generation = 3,
          .job = "mnist",
          .workers = 4,
          .servers = 1,
          .temporary_directory = "/tmp/weft-x/ranks",
          .segment_directory = "/dev/shm/weft-y",
          .log_path = "runs/a/logs/ranks.log"};
}

// The word behind `flag`; empty when the flag is not there.
std::string ValueOf(const Command& command, const std::string& flag) {
  const auto found = std::find(command.arguments.begin(), command.arguments.end(), flag);
  return found == command.arguments.end() ? "" : *(found + 1);
}

TEST(RanksTest, Command_StartsAllRanksOfTheAgentUnderMpirun) {
  const Command command = MakeRankCommand(FourWorkersAndAServer());
  EXPECT_EQ(command.arguments.front(), "mpirun");
  EXPECT_EQ(ValueOf(command, "-np"), "5");
  EXPECT_EQ(ValueOf(command, "5"), "/opt/weft-agent");
  EXPECT_EQ(ValueOf(command, "--coordinator"), "unix:/tmp/weft-x/c");
  EXPECT_EQ(ValueOf(command, "--generation"), "3");
  EXPECT_EQ(ValueOf(command, "--job"), "mnist");
  EXPECT_EQ(ValueOf(command, "--workers"), "4");
  EXPECT_EQ(ValueOf(command, "--servers"), "1");
}

TEST(RanksTest, Command_KeepsItsFilesInTheGenerationsFolders) {
  const Command command = MakeRankCommand(FourWorkersAndAServer());
  EXPECT_THAT(command.environment, Contains(Pair("TMPDIR", "/tmp/weft-x/ranks")));
  EXPECT_EQ(ValueOf(command, "btl_vader_backing_directory"), "/dev/shm/weft-y");
  EXPECT_EQ(command.output_path, "runs/a/logs/ranks.log");
}

TEST(RanksTest, Command_Tcp_TakesTheInterfaceAndNoSharedMemory) {
  RankLaunch launch = FourWorkersAndAServer();
  launch.transport = RankTransport::kTcp;
  EXPECT_EQ(ValueOf(MakeRankCommand(launch), "btl_tcp_if_include"), "lo");
  EXPECT_EQ(ValueOf(MakeRankCommand(launch), "btl_tcp_flags"), "send,inplace");
  launch.interface = "eth1";
  const Command command = MakeRankCommand(launch);
  EXPECT_EQ(ValueOf(command, "btl"), "tcp,self");
  EXPECT_EQ(ValueOf(command, "btl_tcp_if_include"), "eth1");
  EXPECT_THAT(command.arguments, Contains("--no-shared-memory"));
  EXPECT_THAT(MakeRankCommand(FourWorkersAndAServer()).arguments, Not(Contains("--no-shared-memory")));
}

TEST(RanksTest, Command_Rdma_TakesUcx) {
  RankLaunch launch = FourWorkersAndAServer();
  launch.transport = RankTransport::kRdma;
  EXPECT_EQ(ValueOf(MakeRankCommand(launch), "pml"), "ucx");
  EXPECT_EQ(ValueOf(MakeRankCommand(launch), "osc"), "ucx");
}

TEST(RanksTest, Command_Hosts_TakeOneRankEachThroughTheRemoteShell) {
  RankLaunch launch = FourWorkersAndAServer();
  EXPECT_EQ(ValueOf(MakeRankCommand(launch), "plm"), "isolated");
  launch.hosts = {"10.213.0.1", "10.213.0.2", "10.213.0.3", "10.213.0.4", "10.213.0.5"};
  launch.transport = RankTransport::kTcp;
  launch.interface = "weft0";
  launch.testbed_path = "/run/weft/testbed/bed.json";
  launch.search_path = "/opt:/usr/bin";
  const Command command = MakeRankCommand(launch);
  EXPECT_EQ(ValueOf(command, "--host"), "10.213.0.1:1,10.213.0.2:1,10.213.0.3:1,10.213.0.4:1,10.213.0.5:1");
  EXPECT_THAT(command.arguments, Not(Contains("plm")));
  EXPECT_EQ(ValueOf(command, "plm_rsh_agent"), "weft-remote-shell");
  EXPECT_EQ(ValueOf(command, "plm_rsh_num_concurrent"), "6");
  EXPECT_EQ(ValueOf(command, "oob_tcp_if_include"), "weft0");
  EXPECT_EQ(ValueOf(command, "btl_tcp_if_include"), "weft0");
  EXPECT_EQ(ValueOf(command, "btl"), "tcp,self");
  EXPECT_EQ(ValueOf(command, "--metrics-host"), "0.0.0.0");
  EXPECT_THAT(command.arguments, Contains("--no-shared-memory"));
  EXPECT_THAT(command.environment, Contains(Pair("PATH", "/opt:/usr/bin")));
  EXPECT_THAT(command.environment, Contains(Pair("WEFT_TESTBED", "/run/weft/testbed/bed.json")));
}

TEST(RanksTest, Command_RunsInASessionOfItsOwnThatDiesWithTheCoordinator) {
  const Command command = MakeRankCommand(FourWorkersAndAServer());
  EXPECT_TRUE(command.new_session);
  EXPECT_EQ(command.death_signal, 9);
}

TEST(RanksTest, Command_NothingInjectedAndFreePorts_HasNoSuchFlags) {
  const Command command = MakeRankCommand(FourWorkersAndAServer());
  EXPECT_THAT(command.arguments, Not(Contains("--metrics-port")));
  EXPECT_THAT(command.arguments, Not(Contains("--inject-delay-us")));
}

TEST(RanksTest, Command_DelaysInjected_PassesThemOn) {
  RankLaunch launch = FourWorkersAndAServer();
  launch.inject_delay_us = 250;
  launch.inject_seed = 7;
  launch.metrics_port = 9400;
  const Command command = MakeRankCommand(launch);
  EXPECT_EQ(ValueOf(command, "--inject-delay-us"), "250");
  EXPECT_EQ(ValueOf(command, "--inject-seed"), "7");
  EXPECT_EQ(ValueOf(command, "--metrics-port"), "9400");
}

}  // namespace
}  // namespace weft
