#include "common/clock.h"

#include <algorithm>
#include <thread>

namespace weft {
namespace {

class SteadyClock : public Clock {
 public:
  TimePoint Now() const override { return std::chrono::steady_clock::now(); }
  void SleepUntil(TimePoint time) override { std::this_thread::sleep_until(time); }
};

}  // namespace

Clock& Clock::Steady() {
  static SteadyClock clock;
  return clock;
}

TimePoint ManualClock::Now() const {
  MutexLock lock(mutex_);
  return now_;
}

void ManualClock::SleepUntil(TimePoint time) {
  MutexLock lock(mutex_);
  now_ = std::max(now_, time);
}

void ManualClock::Advance(Duration duration) {
  MutexLock lock(mutex_);
  now_ += duration;
}

}  // namespace weft
