#include "common/plan/plan.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace weft {
namespace {

std::vector<int> GroupsAt(PhaseRule rule, int period, int count, std::int64_t iteration) {
  std::vector<int> groups;
  for (int i = 0; i < count; ++i) {
    if (Synchronizes(rule, period, i, iteration)) groups.push_back(i);
  }
  return groups;
}

// The paper's figure: nine groups, a period of three.
TEST(Synchronizes, Figure_NineGroupsPeriodThree_AsInThePaper) {
  EXPECT_EQ(GroupsAt(PhaseRule::kFigure, 3, 9, 1), (std::vector<int>{2, 5, 8}));
  EXPECT_EQ(GroupsAt(PhaseRule::kFigure, 3, 9, 2), (std::vector<int>{1, 4, 7}));
  EXPECT_EQ(GroupsAt(PhaseRule::kFigure, 3, 9, 3), (std::vector<int>{0, 3, 6}));
}

TEST(Synchronizes, Formula_NineGroupsPeriodThree_IndexModuloPeriod) {
  EXPECT_EQ(GroupsAt(PhaseRule::kFormula, 3, 9, 1), (std::vector<int>{1, 4, 7}));
  EXPECT_EQ(GroupsAt(PhaseRule::kFormula, 3, 9, 3), (std::vector<int>{0, 3, 6}));
}

TEST(Synchronizes, AnyPeriod_OnceInEveryTIterations) {
  for (const PhaseRule rule : {PhaseRule::kFigure, PhaseRule::kFormula}) {
    for (int period = 1; period <= 7; ++period) {
      for (int group = 0; group < 11; ++group) {
        std::int64_t rounds = 0;
        for (std::int64_t t = 1; t <= 40; ++t) {
          int within = 0;
          for (std::int64_t u = t; u < t + period; ++u) within += Synchronizes(rule, period, group, u) ? 1 : 0;
          ASSERT_EQ(within, 1) << "T " << period << " group " << group << " from t " << t;
          if (Synchronizes(rule, period, group, t)) {
            ++rounds;
            ASSERT_EQ(t % period, PhaseOf(rule, period, group));
          }
          ASSERT_EQ(RoundsThrough(rule, period, group, t), rounds);
        }
      }
    }
  }
}

TEST(SlotOf, AnyRoundAndServer_IsAPermutationThatRotates) {
  for (int workers = 1; workers <= 6; ++workers) {
    for (int servers = 1; servers <= 4; ++servers) {
      for (int server = 0; server < servers; ++server) {
        std::vector<std::set<int>> of_worker(static_cast<std::size_t>(workers));
        for (std::int64_t round = 0; round < workers; ++round) {
          std::set<int> slots;
          for (int p = 0; p < workers; ++p) {
            const int slot = SlotOf(p, round, server, workers, servers);
            slots.insert(slot);
            of_worker[static_cast<std::size_t>(p)].insert(slot);
          }
          EXPECT_EQ(slots.size(), static_cast<std::size_t>(workers));
          EXPECT_EQ(*slots.rbegin(), workers - 1);
        }
        for (const auto& slots : of_worker) EXPECT_EQ(slots.size(), static_cast<std::size_t>(workers));
      }
    }
  }
}

TEST(SlotOf, AsManyServersAsWorkers_NoWorkerHasOneSlotOnTwoServers) {
  for (int p = 0; p < 4; ++p) {
    std::set<int> slots;
    for (int server = 0; server < 4; ++server) slots.insert(SlotOf(p, 7, server, 4, 4));
    EXPECT_EQ(slots.size(), 4u);
  }
  EXPECT_EQ(SlotOf(2, 3, 0, 4, 1), 3);
}

}  // namespace
}  // namespace weft
