#include "coordinator/service/coordinator_metrics.h"

#include <algorithm>
#include <limits>

#include "coordinator/service/run_statistics.h"

namespace weft {
namespace {

constexpr std::size_t kTransfersHeld = 32;  // of a group
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace

CoordinatorMetrics::CoordinatorMetrics(const std::string& training_job) : registry_(training_job) {}

void CoordinatorMetrics::SetMembership(std::uint64_t generation, int workers) {
  registry_.MakeGauge(metric::kMembershipGeneration).Set(static_cast<double>(generation));
  registry_.MakeGauge(metric::kWorkers).Set(workers);
}

void CoordinatorMetrics::SetPlan(const Plan& plan) {
  double folded_us = 0;
  int folded = 0;
  for (const PlanGroup& group : plan.groups) {
    double transfer_us = group.transfer_us;
    if (group.index >= kMaximumGroupLabels) {
      folded_us += group.transfer_us;
      transfer_us = folded_us / ++folded;
    }
    registry_.MakeGauge(metric::kPlanPredictedSeconds, {std::to_string(group.index)}).Set(transfer_us * 1e-6);
  }
  registry_.MakeGauge(metric::kPlanPredictedIterationSeconds).Set(plan.iteration_us * 1e-6);
  // Groups that a plan before this one had, and what was measured of its groups, are no longer.
  const int groups = std::min(static_cast<int>(plan.groups.size()), kMaximumGroupLabels + 1);
  for (int group = groups; group < groups_; ++group) {
    registry_.MakeGauge(metric::kPlanPredictedSeconds, {std::to_string(group)}).Set(kUnknown);
  }
  for (auto& [group, transfers] : transfers_) transfers.measured.Set(kUnknown);
  transfers_.clear();
  for (auto& [slot, bandwidth] : slot_bandwidth_) bandwidth.Set(kUnknown);
  groups_ = std::max(groups_, groups);
}

void CoordinatorMetrics::SetRecommendedWorkers(int workers) {
  registry_.MakeGauge(metric::kRecommendedWorkers).Set(workers);
}

void CoordinatorMetrics::SetProgress(std::int64_t iteration, std::int64_t total) {
  registry_.MakeGauge(metric::kProgressRatio).Set(static_cast<double>(iteration) / static_cast<double>(total));
}

void CoordinatorMetrics::SetDrift(const Plan& plan, double iteration_seconds) {
  if (plan.iteration_us <= 0) return;
  registry_.MakeGauge(metric::kPlanDriftRatio).Set(iteration_seconds / (plan.iteration_us * 1e-6) - 1);
}

void CoordinatorMetrics::SetModelVariance(double variance, double relative_error) {
  registry_.MakeGauge(metric::kModelVariance).Set(variance);
  registry_.MakeGauge(metric::kModelVarianceError).Set(relative_error);
}

void CoordinatorMetrics::AddTransferTime(std::uint32_t group, double seconds) {
  group = std::min<std::uint32_t>(group, kMaximumGroupLabels);
  auto transfers = transfers_.find(group);
  if (transfers == transfers_.end()) {
    const Gauge measured = registry_.MakeGauge(metric::kPlanMeasuredSeconds, {std::to_string(group)});
    transfers = transfers_.emplace(group, GroupTransfers{.measured = measured, .seconds = {}}).first;
  }
  GroupTransfers& last = transfers->second;
  if (last.seconds.size() < kTransfersHeld) last.seconds.push_back(0);
  last.seconds[last.next] = seconds;
  last.next = (last.next + 1) % kTransfersHeld;
  last.measured.Set(QuantilesOf(last.seconds).median);
}

void CoordinatorMetrics::AddTransfer(const v1::Transfer& transfer) {
  const double seconds = static_cast<double>(transfer.end_ns() - transfer.granted_ns()) * 1e-9;
  if (seconds <= 0) return;
  AddTransferTime(transfer.group(), seconds);
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
