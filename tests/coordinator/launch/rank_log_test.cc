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

}  // namespace
}  // namespace weft
