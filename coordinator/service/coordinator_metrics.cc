#include "coordinator/service/coordinator_metrics.h"

#include <algorithm>

namespace weft {

CoordinatorMetrics::CoordinatorMetrics(const std::string& training_job)
    : registry_(training_job),
      generation_(registry_.MakeGauge(metric::kMembershipGeneration)),
      workers_(registry_.MakeGauge(metric::kWorkers)),
      drift_(registry_.MakeGauge(metric::kPlanDriftRatio)),
      variance_(registry_.MakeGauge(metric::kModelVariance)),
      variance_error_(registry_.MakeGauge(metric::kModelVarianceError)) {}

void CoordinatorMetrics::SetMembership(std::uint64_t generation, int workers) {
  generation_.Set(static_cast<double>(generation));
  workers_.Set(workers);
}

void CoordinatorMetrics::SetPlan(const Plan& plan) {
  for (const PlanGroup& group : plan.groups) {
    registry_.MakeGauge(metric::kPlanPredictedSeconds, {std::to_string(group.index)}).Set(group.transfer_us * 1e-6);
  }
}

void CoordinatorMetrics::SetDrift(const Plan& plan, double iteration_seconds) {
  if (plan.iteration_us > 0) drift_.Set(iteration_seconds / (plan.iteration_us * 1e-6) - 1);
}

void CoordinatorMetrics::SetModelVariance(double variance, double relative_error) {
  variance_.Set(variance);
  variance_error_.Set(relative_error);
}

void CoordinatorMetrics::AddTransfer(const v1::Transfer& transfer) {
  const double seconds = static_cast<double>(transfer.end_ns() - transfer.granted_ns()) * 1e-9;
  if (seconds <= 0) return;
  const std::pair key(transfer.group(), transfer.slot());
  auto gauge = slot_bandwidth_.find(key);
  if (gauge == slot_bandwidth_.end()) {
    gauge = slot_bandwidth_
                .emplace(key, registry_.MakeGauge(metric::kJobSlotBandwidth,
                                                  {std::to_string(transfer.group()), std::to_string(transfer.slot())}))
                .first;
  }
  gauge->second.Set(static_cast<double>(std::max(transfer.push_bytes(), transfer.pull_bytes())) / seconds);
}

}  // namespace weft
