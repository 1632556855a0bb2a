// Time as an input. What runs on time takes a Clock&; tests give a ManualClock and never sleep.
#pragma once

#include <chrono>
#include <string>

#include "common/mutex.h"

namespace weft {

using Duration = std::chrono::nanoseconds;
// The machine's monotonic time: the same for all processes of one host, so that traces of its ranks line up.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

constexpr double ToMicroseconds(Duration d) { return static_cast<double>(d.count()) * 1e-3; }
constexpr double ToSeconds(Duration d) { return static_cast<double>(d.count()) * 1e-9; }
constexpr Duration FromMicroseconds(double us) { return Duration(static_cast<Duration::rep>(us * 1e3)); }
constexpr Duration FromSeconds(double s) { return Duration(static_cast<Duration::rep>(s * 1e9)); }

// "2026-01-31T23:59:59Z".
std::string UtcText(std::chrono::system_clock::time_point time);

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint Now() const = 0;
  // Returns at `time`, or at once when it has passed.
  virtual void SleepUntil(TimePoint time) = 0;
  void SleepFor(Duration duration) { SleepUntil(Now() + duration); }

  // The real one.
  static Clock& Steady();
};

// Stands still until it is moved. SleepUntil moves it.
class ManualClock : public Clock {
 public:
  TimePoint Now() const override WEFT_EXCLUDES(mutex_);
  void SleepUntil(TimePoint time) override WEFT_EXCLUDES(mutex_);
  void Advance(Duration duration) WEFT_EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  TimePoint now_ WEFT_GUARDED_BY(mutex_){};
};

}  // namespace weft
