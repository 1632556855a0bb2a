// Gamma, the sum of the squared distances of the workers' models to their mean, between epoch ends: from the sketches
// that the workers send at the same iteration numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/status.h"

namespace weft {

// Not thread-safe.
class SketchCollector {
 public:
  // Sketches of iterations that are not complete are kept of so many iterations; then the oldest go. While a worker is
  // further behind than that, Gamma is told at epoch ends only.
  static constexpr std::size_t kMostIncomplete = 64;

  explicit SketchCollector(int workers) : workers_(workers) {}

  // Gamma, when this was the iteration's last sketch, over those that are finite; none, when no sketch is.
  // INVALID_ARGUMENT: not kSketchBuckets numbers.
  Result<std::optional<double>> Add(int worker, std::int64_t iteration, std::vector<double> buckets);

 private:
  const int workers_;
  std::map<std::int64_t, std::map<int, std::vector<double>>> incomplete_;  // by iteration and worker
};

}  // namespace weft
