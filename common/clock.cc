#include "common/clock.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <thread>

namespace weft {
namespace {

class SteadyClock : public Clock {
 public:
  TimePoint Now() const override { return std::chrono::steady_clock::now(); }
  void SleepUntil(TimePoint time) override { std::this_thread::sleep_until(time); }
};

}  // namespace

std::string UtcText(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

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
