#include "coordinator/planner/pace.h"

#include <algorithm>

namespace weft {

double Pace::Next(int worker) {
  double factor = slowdown_.empty() ? 1 : slowdown_[static_cast<std::size_t>(worker)];
  if (jitter_ > 0) {
    std::normal_distribution<double> normal(1, jitter_);
    factor *= std::max(0.1, normal(random_));
  }
  return factor;
}

int IterationsToMeasure(int period, int wanted, double transfers_per_iteration) {
  const int affordable = static_cast<int>(std::clamp(1e6 / std::max(1.0, transfers_per_iteration), 1.0, 32.0));
  const int least = wanted > 0 ? wanted : affordable;
  return (least + period - 1) / period * period;
}

int IterationsToSettle(int period, int measured, const std::vector<double>& slowdown) {
  int periods = std::max(1, std::min(measured, 8) / period);
  if (!slowdown.empty()) {
    const auto [fastest, slowest] = std::minmax_element(slowdown.begin(), slowdown.end());
    const double lead = 1 - *fastest / *slowest;
    if (lead > 0) periods = std::max(periods, static_cast<int>(std::min(64.0, 1 + 2 / lead)));
  }
  return periods * period;
}

}  // namespace weft
