#include "common/clock.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using std::chrono::seconds;

TEST(ManualClockTest, SleepUntil_MovesForwardOnly) {
  ManualClock clock;
  const TimePoint start = clock.Now();
  clock.SleepUntil(start + seconds(5));
  EXPECT_EQ(clock.Now() - start, seconds(5));
  clock.SleepUntil(start + seconds(1));
  EXPECT_EQ(clock.Now() - start, seconds(5));
  clock.Advance(seconds(2));
  EXPECT_EQ(clock.Now() - start, seconds(7));
}

TEST(ClockTest, Conversions_AreInverse) {
  EXPECT_EQ(FromMicroseconds(ToMicroseconds(seconds(3))), seconds(3));
  EXPECT_EQ(FromSeconds(ToSeconds(std::chrono::milliseconds(250))), std::chrono::milliseconds(250));
}

}  // namespace
}  // namespace weft
