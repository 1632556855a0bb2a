// The coordinator's Prometheus metrics (docs/reference/metrics.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/metrics/registry.h"
#include "common/plan/plan.h"
#include "proto/coordinator.pb.h"

namespace weft {

// Used by one thread; the exporter reads the registry from its own. A series begins with its first value: none stands
// at 0 for what is not known.
class CoordinatorMetrics {
 public:
  explicit CoordinatorMetrics(const std::string& training_job);

  MetricsRegistry& registry() { return registry_; }

  void SetMembership(std::uint64_t generation, int workers);
  // The plan that holds; also in the place of one before, whose groups' figures then become NaN until there are new
  // ones.
  void SetPlan(const Plan& plan);
  void SetRecommendedWorkers(int workers);
  // `total` > 0.
  void SetProgress(std::int64_t iteration, std::int64_t total);
  // `iteration_seconds` is the recent median, held against the plan's prediction.
  void SetDrift(const Plan& plan, double iteration_seconds);
  // Gamma; `relative_error` is 0 where it is exact.
  void SetModelVariance(double variance, double relative_error);
  void AddTransfer(const v1::Transfer& transfer);

 private:
  MetricsRegistry registry_;
  // The last transfers of a group, or of all groups that share a label.
  struct GroupTransfers {
    Gauge measured;
    std::vector<double> seconds;  // a ring
    std::size_t next = 0;
  };
  void AddTransferTime(std::uint32_t group, double seconds);

  std::map<std::pair<std::uint32_t, std::uint32_t>, Gauge> slot_bandwidth_;  // by group and slot
  std::map<std::uint32_t, GroupTransfers> transfers_;                        // by group
  int groups_ = 0;                                                           // the most that a plan has had
};

}  // namespace weft
