// The coordinator's Prometheus metrics (docs/reference/metrics.md).
#pragma once

#include <map>
#include <string>
#include <utility>

#include "common/metrics/registry.h"
#include "common/plan/plan.h"
#include "proto/coordinator.pb.h"

namespace weft {

// Used by one thread; the exporter reads the registry from its own.
class CoordinatorMetrics {
 public:
  explicit CoordinatorMetrics(const std::string& training_job);

  const MetricsRegistry& registry() const { return registry_; }

  void SetMembership(std::uint64_t generation, int workers);
  void SetPlan(const Plan& plan);
  // `iteration_seconds` is the recent median, held against the plan's prediction.
  void SetDrift(const Plan& plan, double iteration_seconds);
  // Gamma; `relative_error` is 0 where it is exact.
  void SetModelVariance(double variance, double relative_error);
  void AddTransfer(const v1::Transfer& transfer);

 private:
  MetricsRegistry registry_;
  Gauge generation_;
  Gauge workers_;
  Gauge drift_;
  Gauge variance_;
  Gauge variance_error_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Gauge> slot_bandwidth_;  // by group and slot
};

}  // namespace weft
