#include "agent/dataplane/direction_meter.h"

#include <algorithm>

namespace weft {

void DirectionMeter::AddBytes(TimePoint from, TimePoint to, std::int64_t bytes) {
  bytes_ += bytes;
  const Duration longest = kWindow * static_cast<Duration::rep>(kWindows - 1);
  from = std::max(std::min(from, to), to - longest);
  const std::int64_t first = from.time_since_epoch() / kWindow, last = to.time_since_epoch() / kWindow;
  const double whole_ns = static_cast<double>((to - from).count());
  for (std::int64_t index = first; index <= last; ++index) {
    const TimePoint window_start{kWindow * index};
    const Duration part = std::min(to, window_start + kWindow) - std::max(from, window_start);
    Window& window = windows_[static_cast<std::size_t>(index) % kWindows];
    if (window.index != index) window = {.index = index, .bytes = 0};
    window.bytes += static_cast<double>(bytes) * (whole_ns > 0 ? static_cast<double>(part.count()) / whole_ns : 1.0);
    peak_bytes_ = std::max(peak_bytes_, window.bytes);
  }
}

void DirectionMeter::AdvanceTo(TimePoint now) {
  while (!edges_.empty() && edges_.begin()->first <= now) {
    const auto [time, change] = *edges_.begin();
    edges_.erase(edges_.begin());
    if (time > at_) {
      if (active_ > 0) busy_ += time - at_;
      if (active_ > 1) concurrent_ += time - at_;
      at_ = time;
    }
    active_ += change;
  }
  if (now > at_) {
    if (active_ > 0) busy_ += now - at_;
    if (active_ > 1) concurrent_ += now - at_;
    at_ = now;
  }
}

}  // namespace weft
