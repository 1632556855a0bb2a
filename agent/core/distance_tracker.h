// How far apart models are, block by block: what a register's writer makes its scale from.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weft {

// y_max per block: 1.5 times the largest of the last 64 distances max|x - y| seen there; `initial` before the first.
// Not thread-safe.
class DistanceTracker {
 public:
  static constexpr std::size_t kWindow = 64;
  static constexpr float kMargin = 1.5F;

  DistanceTracker(std::size_t blocks, float initial);

  // A distance that is no number, negative or infinite is not taken: it comes of a model that is broken already.
  void Add(std::size_t block, float distance);
  std::span<const float> y_max() const { return y_max_; }

 private:
  std::vector<std::size_t> seen_;  // [blocks], of all times; the last min(seen, kWindow) are kept
  std::vector<float> distances_;   // [blocks, kWindow], a ring each
  std::vector<float> y_max_;       // [blocks]
};

}  // namespace weft
