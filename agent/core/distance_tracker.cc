#include "agent/core/distance_tracker.h"

#include <algorithm>

#include "agent/core/quantizer_format.h"
#include "common/check.h"

namespace weft {

DistanceTracker::DistanceTracker(std::size_t blocks, float initial)
    : seen_(blocks, 0), distances_(blocks * kWindow), y_max_(blocks, initial) {
  WEFT_CHECK(initial >= 0 && initial < kLargestCoordinate) << "initial distance " << initial;
}

void DistanceTracker::Add(std::size_t block, float distance) {
  WEFT_CHECK(block < seen_.size()) << "block " << block << " of " << seen_.size();
  // Written so that NaN fails.
  if (!(distance >= 0 && distance < kLargestCoordinate / 2)) return;
  float* ring = distances_.data() + block * kWindow;
  ring[seen_[block]++ % kWindow] = distance;
  y_max_[block] = kMargin * *std::max_element(ring, ring + std::min(seen_[block], kWindow));
}

}  // namespace weft
