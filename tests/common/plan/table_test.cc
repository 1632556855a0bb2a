#include "common/plan/table.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Show, Values_HaveThreeDigitsAndAUnit) {
  EXPECT_EQ(ShowMicroseconds(0), "0");
  EXPECT_EQ(ShowMicroseconds(-7.5), "-7.50 us");
  EXPECT_EQ(ShowMicroseconds(999.4), "999 us");
  EXPECT_EQ(ShowMicroseconds(7500), "7.50 ms");
  EXPECT_EQ(ShowMicroseconds(1234567), "1.23 s");
  EXPECT_EQ(ShowBytes(4), "4 B");
  EXPECT_EQ(ShowBytes(25.6e6), "25.6 MB");
  EXPECT_EQ(ShowPercent(0.0123), "1.2 %");
  EXPECT_EQ(ShowPercent(0.02), "2 %");
  EXPECT_EQ(ShowPercent(0.567), "57 %");
}

TEST(AlignedColumns, Rows_AreAlignedByTheirWidestCell) {
  EXPECT_EQ(AlignedColumns({{"a", "size"}, {"long", "1"}, {"\xC2\xB5", "22"}}),
            "a     size\nlong     1\n\xC2\xB5       22\n");
}

TEST(PlanTable, MoreGroupsThanRows_TellsHowManyAreLeftOut) {
  Plan plan;
  plan.groups.resize(5);
  plan.reason = "Why.";
  plan.compute_us = 10;
  plan.iteration_us = 12;
  const std::string table = PlanTable(plan, 2);
  EXPECT_NE(table.find("and 3 more groups\niteration 12.0 us, compute alone 10.0 us\nWhy.\n"), std::string::npos)
      << table;
}

}  // namespace
}  // namespace weft
