#include "agent/dataplane/phase_estimator.h"

#include <algorithm>

namespace weft {
namespace {

constexpr std::size_t kMostOpen = 64;

}  // namespace

PhaseEstimator::PhaseEstimator(int workers, Duration iteration)
    : workers_(static_cast<std::size_t>(workers)), period_(iteration), corrections_(workers_) {}

void PhaseEstimator::Report(int worker, std::int64_t iteration, TimePoint start) {
  if (period_ <= Duration::zero()) return;
  auto it = std::find_if(open_.begin(), open_.end(), [&](const Iteration& i) { return i.number == iteration; });
  if (it == open_.end()) {
    if (!open_.empty() && iteration < open_.front().number) return;
    open_.push_back({.number = iteration, .reported = 0, .starts = std::vector<TimePoint>(workers_)});
    if (open_.size() > kMostOpen) open_.pop_front();
    it = open_.end() - 1;
  }
  TimePoint& slot = it->starts[static_cast<std::size_t>(worker)];
  if (slot != TimePoint{}) return;
  slot = start;
  if (++it->reported < static_cast<int>(workers_)) return;
  Update(it->starts);
  open_.erase(open_.begin(), it + 1);
}

void PhaseEstimator::Update(const std::vector<TimePoint>& starts) {
  // Differences to worker 0, wrapped to half of an iteration either way, so that a worker that is a whole iteration
  // ahead counts as in step.
  std::vector<Duration> ahead(workers_);
  Duration sum{};
  for (std::size_t k = 0; k < workers_; ++k) {
    Duration d = (starts[k] - starts[0]) % period_;
    if (d > period_ / 2) d -= period_;
    if (d < -period_ / 2) d += period_;
    ahead[k] = d;
    sum += d;
  }
  const Duration mean = sum / static_cast<Duration::rep>(workers_);
  for (std::size_t k = 0; k < workers_; ++k) {
    const Duration target = std::clamp(mean - ahead[k], -period_ / 2, period_ / 2);
    corrections_[k] += (target - corrections_[k]) / 4;
  }
}

}  // namespace weft
