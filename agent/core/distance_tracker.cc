#include "agent/core/distance_tracker.h"

#include <algorithm>

#include "agent/core/quantizer_format.h"
#include "common/check.h"

namespace weft {

DistanceTracker::DistanceTracker(std::size_t blocks, float initial)
    : windows_(blocks), distances_(blocks * kWindow), y_max_(blocks, initial) {
  WEFT_CHECK(initial >= 0 && initial < kLargestCoordinate) << "initial distance " << initial;
}

void DistanceTracker::Add(std::size_t block, float distance) {
  WEFT_CHECK(block < windows_.size()) << "block " << block << " of " << windows_.size();
  // Written so that NaN fails.
  if (!(distance >= 0 && distance < kLargestCoordinate / 2)) return;
  Window& window = windows_[block];
  float* ring = distances_.data() + block * kWindow;
  ring[window.seen % kWindow] = distance;
  window.last = distance;
  ++window.seen;
  y_max_[block] = kMargin * *std::max_element(ring, ring + std::min(window.seen, kWindow));
}

float DistanceTracker::largest() const {
  float largest = 0;
  for (const Window& window : windows_) largest = std::max(largest, window.last);
  return largest;
}

}  // namespace weft
