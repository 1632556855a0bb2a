// How one direction of a link is used: bytes, time with one and with more transfers, and the highest rate over windows
// of 10 ms. Pure; one thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "common/clock.h"

namespace weft {

class DirectionMeter {
 public:
  // A transfer runs from `begin` (which may lie ahead) to `end`. Ends come in any order; an end is not before now.
  void Begin(TimePoint begin) { ++edges_[begin], ++transfers_; }
  void End(TimePoint end) { --edges_[end]; }
  // `bytes` flowed evenly between the two times.
  void AddBytes(TimePoint from, TimePoint to, std::int64_t bytes);
  // Everything before `now` is known.
  void AdvanceTo(TimePoint now);

  Duration busy() const { return busy_; }
  Duration concurrent() const { return concurrent_; }
  double peak_bytes_per_second() const { return peak_bytes_ / ToSeconds(kWindow); }
  int active() const { return active_; }
  std::int64_t bytes() const { return bytes_; }
  std::int64_t transfers() const { return transfers_; }

 private:
  static constexpr Duration kWindow = std::chrono::milliseconds(10);
  // Bytes are added to windows of the last 10 s.
  static constexpr std::size_t kWindows = 1024;

  struct Window {
    std::int64_t index = -1;
    double bytes = 0;
  };

  std::map<TimePoint, int> edges_;  // +1 at a begin, -1 at an end; those that AdvanceTo has not passed
  TimePoint at_{};                  // up to here busy_ and concurrent_ are counted
  int active_ = 0;                  // transfers at at_
  Duration busy_{};
  Duration concurrent_{};
  std::array<Window, kWindows> windows_{};
  double peak_bytes_ = 0;  // of the fullest window
  std::int64_t bytes_ = 0;
  std::int64_t transfers_ = 0;
};

}  // namespace weft
