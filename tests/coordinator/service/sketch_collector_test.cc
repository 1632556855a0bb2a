#include "coordinator/service/sketch_collector.h"

#include <gtest/gtest.h>

#include <limits>

#include "common/math/sketch.h"

namespace weft {
namespace {

std::vector<double> Sketch(double first) {
  std::vector<double> buckets(kSketchBuckets);
  buckets[0] = first;
  return buckets;
}

TEST(SketchCollectorTest, LastSketchOfAnIteration_GivesTheVariance) {
  SketchCollector collector(2);
  EXPECT_FALSE(collector.Add(0, 10, Sketch(1)).value().has_value());
  EXPECT_FALSE(collector.Add(0, 20, Sketch(7)).value().has_value());
  EXPECT_DOUBLE_EQ(collector.Add(1, 10, Sketch(3)).value().value(), 2);
  EXPECT_DOUBLE_EQ(collector.Add(1, 20, Sketch(7)).value().value(), 0);
}

TEST(SketchCollectorTest, WorkerFarBehind_IsNotWaitedForWithoutEnd) {
  SketchCollector collector(2);
  const auto most = static_cast<std::int64_t>(SketchCollector::kMostIncomplete);
  for (std::int64_t i = 1; i <= most + 1; ++i) ASSERT_TRUE(collector.Add(0, i, Sketch(1)).ok());
  EXPECT_FALSE(collector.Add(1, 1, Sketch(3)).value().has_value()) << "the oldest was kept";
  EXPECT_TRUE(collector.Add(1, most + 1, Sketch(3)).value().has_value());
}

TEST(SketchCollectorTest, SketchThatIsNotFinite_IsLeftOut) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  SketchCollector collector(3);
  ASSERT_TRUE(collector.Add(0, 1, Sketch(nan)).ok());
  ASSERT_TRUE(collector.Add(1, 1, Sketch(1)).ok());
  EXPECT_DOUBLE_EQ(collector.Add(2, 1, Sketch(3)).value().value(), 2);
  SketchCollector alone(1);
  EXPECT_FALSE(alone.Add(0, 1, Sketch(nan)).value().has_value());
}

TEST(SketchCollectorTest, OtherSize_IsRefused) {
  EXPECT_EQ(SketchCollector(2).Add(0, 1, {1, 2}).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weft
