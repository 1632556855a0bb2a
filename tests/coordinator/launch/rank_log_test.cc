#include "coordinator/launch/rank_log.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(RankLogTest, UncaughtException_IsTold) {
  EXPECT_EQ(TellingLine("terminate called after throwing an instance of 'std::bad_alloc'\n"
                        "  what():  std::bad_alloc\n[vm:06050] *** Process received signal ***\n",
                        false),
            "what():  std::bad_alloc");
}

TEST(RankLogTest, SystemCall_IsTold) {
  EXPECT_EQ(
      TellingLine("  Local host:  vm\n  System call: ftruncate(2) \n  Error:       File too large (errno 27)\n", false),
      "Error:       File too large (errno 27)");
}

TEST(RankLogTest, RanksOwnErrors_AreConsequencesUnlessAskedFor) {
  const std::string log = "2026-01-31T10:00:00.000Z error worker-0 rank failed cause=\"rank 1 is gone\"\n";
  EXPECT_EQ(TellingLine(log, false), "");
  EXPECT_EQ(TellingLine(log, true) + "\n", log);
}

TEST(RankLogTest, NothingTells_Empty) { EXPECT_EQ(TellingLine("mpirun noticed that a process exited\n", true), ""); }

TEST(RankLogTest, RemoteShell_IsToldFirst) {
  EXPECT_EQ(TellingLine("what():  x\nweft-remote-shell: test-bed bed has no host 10.213.0.9\n", false),
            "weft-remote-shell: test-bed bed has no host 10.213.0.9");
}

// As mpirun prints it when a host is cut off.
constexpr const char* kLostDaemon =
    "--------------------------------------------------------------------------\n"
    "ORTE has lost communication with a remote daemon.\n\n"
    "  HNP daemon   : [[47741,0],0] on node bed-control\n"
    "  Remote daemon: [[47741,0],2] on node 10.213.0.2\n\n"
    "This is usually due to either a failure of the TCP network\n";

TEST(RankLogTest, LostDaemon_ItsHostAndRankAreNamed) {
  const std::vector<std::string> hosts = {"10.213.0.1", "10.213.0.2", "10.213.0.3"};
  EXPECT_EQ(DescribeLostHost(kLostDaemon, hosts, 2), "host 1 (10.213.0.2) can't be reached any more: worker 1");
  EXPECT_EQ(DescribeLostHost(kLostDaemon, hosts, 1), "host 1 (10.213.0.2) can't be reached any more: server 0");
}

TEST(RankLogTest, NoDaemonOfTheRunLost_Empty) {
  EXPECT_EQ(DescribeLostHost(kLostDaemon, {"10.213.0.1"}, 1), "");
  EXPECT_EQ(DescribeLostHost(kLostDaemon, {}, 1), "");
  EXPECT_EQ(DescribeLostHost("rank 1 on node 10.213.0.1 exited\n", {"10.213.0.1"}, 1), "");
}

}  // namespace
}  // namespace weft
