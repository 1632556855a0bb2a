#include "agent/dataplane/slow_momentum.h"

#include <algorithm>
#include <string>

#include "agent/dataplane/peer_worker.h"
#include "common/check.h"

namespace weft {

Status SlowMomentum::Validate(double momentum, double rate) {
  if (!(momentum >= 0 && momentum < 1)) {
    return InvalidArgumentError("slowMomentum: " + std::to_string(momentum) + " is not in [0, 1)");
  }
  if (!(rate > 0)) return InvalidArgumentError("slowRate: " + std::to_string(rate) + " is not above 0");
  return OkStatus();
}

SlowMomentum::SlowMomentum(double momentum, double rate, std::size_t count, std::span<const float> start)
    : momentum_(static_cast<float>(momentum)), rate_(rate), u_(count), start_(start.begin(), start.end()) {
  WEFT_CHECK(start.empty() || start.size() == count) << start.size() << " floats of " << count;
}

void SlowMomentum::StepDisplacement(FloatRange range, std::span<float> displacement, double gamma) {
  WEFT_CHECK(displacement.size() == static_cast<std::size_t>(range.count));
  if (gamma == 0) return;
  const auto inverse = static_cast<float>(1 / gamma);
  const auto factor = static_cast<float>(rate_ * gamma);
  float* u = u_.data() + range.first;
  for (std::size_t i = 0; i < displacement.size(); ++i) {
    u[i] = momentum_ * u[i] - displacement[i] * inverse;
    displacement[i] = -factor * u[i];
  }
}

void SlowMomentum::Step(FloatRange range, std::span<float> weights, double gamma) {
  WEFT_CHECK(start_.size() == u_.size()) << "no start is kept";
  const std::span<float> start =
      std::span(start_).subspan(static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.count));
  if (gamma != 0) {
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= start[i];
    StepDisplacement(range, weights, gamma);
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] += start[i];
  }
  std::ranges::copy(weights, start.begin());
}

void SlowMomentum::Save(std::vector<PlaneTensor>& tensors) const {
  tensors.push_back({"slow_momentum", u_});
  if (!start_.empty()) tensors.push_back({"slow_start", start_});
}

Status SlowMomentum::Restore(const std::vector<PlaneTensor>& tensors) {
  WEFT_ASSIGN_OR_RETURN(const std::span<const float> u, TensorOf(tensors, "slow_momentum", u_.size()));
  std::ranges::copy(u, u_.begin());
  if (start_.empty()) return OkStatus();
  WEFT_ASSIGN_OR_RETURN(const std::span<const float> start, TensorOf(tensors, "slow_start", start_.size()));
  std::ranges::copy(start, start_.begin());
  return OkStatus();
}

}  // namespace weft
