#include "coordinator/service/sketch_collector.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "common/math/sketch.h"

namespace weft {

Result<std::optional<double>> SketchCollector::Add(int worker, std::int64_t iteration, std::vector<double> buckets) {
  if (buckets.size() != static_cast<std::size_t>(kSketchBuckets)) {
    return InvalidArgumentError("sketch of iteration " + std::to_string(iteration) + ": " +
                                std::to_string(buckets.size()) + " buckets, not " + std::to_string(kSketchBuckets));
  }
  std::map<int, std::vector<double>>& sketches = incomplete_[iteration];
  sketches.insert_or_assign(worker, std::move(buckets));
  if (static_cast<int>(sketches.size()) < workers_) {
    if (incomplete_.size() > kMostIncomplete) incomplete_.erase(incomplete_.begin());
    return std::optional<double>();
  }
  std::vector<std::vector<double>> all;
  for (auto& [of, sketch] : sketches) {
    if (std::ranges::all_of(sketch, [](double bucket) { return std::isfinite(bucket); })) {
      all.push_back(std::move(sketch));
    }
  }
  incomplete_.erase(iteration);
  if (all.empty()) return std::optional<double>();
  WEFT_ASSIGN_OR_RETURN(const double variance, VarianceFromSketches(all));
  return std::optional<double>(variance);
}

}  // namespace weft
