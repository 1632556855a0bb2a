#include "common/job/nearest.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(NearestNameTest, SlipsOfTheFinger_FindTheName) {
  const std::vector<std::string> names = {"epochs", "training", "worker", "server", "learningRate"};
  EXPECT_EQ(NearestName("trainng", names), "training");    // left out
  EXPECT_EQ(NearestName("trainiing", names), "training");  // doubled
  EXPECT_EQ(NearestName("trainign", names), "training");   // swapped
  EXPECT_EQ(NearestName("Worker", names), "worker");
  EXPECT_EQ(NearestName("learning_rate", names), "learningRate");
}

TEST(NearestNameTest, StrangeNames_FindNone) {
  const std::vector<std::string> names = {"epochs", "training", "ab"};
  EXPECT_EQ(NearestName("xyzzy", names), "");
  EXPECT_EQ(NearestName("cd", names), "");  // as far from "ab" as "ab" is long
  EXPECT_EQ(NearestName("", names), "");
  EXPECT_EQ(NearestName(std::string(100'000, 'e'), names), "");
  EXPECT_EQ(NearestName("epochs", {}), "");
}

TEST(NearestNameTest, Equals_GiveTheFirst) { EXPECT_EQ(NearestName("axc", {"abc", "adc"}), "abc"); }

}  // namespace
}  // namespace weft
