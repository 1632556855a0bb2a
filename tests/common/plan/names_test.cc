#include "common/plan/names.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Name, Values_AreThoseOfTheJobFile) {
  EXPECT_STREQ(Name(StrategyType::kBulkSynchronousPS), "BulkSynchronousPS");
  EXPECT_STREQ(Name(Fusion::kMGWFBP), "MGWFBP");
  EXPECT_STREQ(Name(WindowRule::kAfterBackward), "AfterBackward");
}

TEST(FromName, AnyOtherSpelling_IsNone) {
  EXPECT_EQ(FromName<Fusion>("Optimal"), Fusion::kOptimal);
  EXPECT_EQ(FromName<Fusion>("optimal"), std::nullopt);
  EXPECT_EQ(FromName<Tail>(""), std::nullopt);
}

TEST(FromLooseName, CaseAndHyphens_DoNotMatter) {
  EXPECT_EQ(FromLooseName<Fusion>("mg-wfbp"), Fusion::kMGWFBP);
  EXPECT_EQ(FromLooseName<Fusion>("per-layer"), Fusion::kPerLayer);
  EXPECT_EQ(FromLooseName<WindowRule>("WHOLE-iteration"), WindowRule::kWholeIteration);
  EXPECT_EQ(FromLooseName<StrategyType>("interleaved-ps"), StrategyType::kInterleavedPS);
  EXPECT_EQ(FromLooseName<Fusion>("per layer"), std::nullopt);
}

TEST(AllNames, Enumeration_ListsThem) { EXPECT_EQ(AllNames<WindowRule>(), "AfterBackward, WholeIteration"); }

}  // namespace
}  // namespace weft
