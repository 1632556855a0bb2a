// Every metric that Weft exports, in one table: docs/reference/metrics.md is made from it. Names and values are in base
// units (seconds, bytes); the constant label `training_job` stands on each series.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

namespace weft {

enum class MetricType { kCounter, kGauge, kHistogram };

struct MetricInfo {
  const char* name;
  MetricType type;
  const char* exported_by;  // "worker", "server", "coordinator" or "evaluator": server 0, without servers worker 0
  std::vector<const char*> labels;
  const char* help;
  std::vector<double> buckets = {};  // upper bounds; histograms only
};

// Series per label stay bounded: groups and slots from these numbers on share one series, labelled "other".
inline constexpr int kMaximumGroupLabels = 16;
inline constexpr int kMaximumSlotLabels = 64;

namespace metric {
extern const MetricInfo kIterationSeconds;
extern const MetricInfo kComputeSeconds;
extern const MetricInfo kStallSeconds;
extern const MetricInfo kTransferBytes;
extern const MetricInfo kSlotBandwidth;
extern const MetricInfo kSlotOverruns;
extern const MetricInfo kSlotStartError;
extern const MetricInfo kStaleness;
extern const MetricInfo kServerConcurrentTransfers;
extern const MetricInfo kLoss;
extern const MetricInfo kAccuracy;
extern const MetricInfo kSwarmInteractions;
extern const MetricInfo kQuantizerFailures;
extern const MetricInfo kQuantizerDistance;
extern const MetricInfo kRegisterMechanism;
extern const MetricInfo kJobSlotBandwidth;
extern const MetricInfo kMembershipGeneration;
extern const MetricInfo kWorkers;
extern const MetricInfo kRecommendedWorkers;
extern const MetricInfo kProgressRatio;
extern const MetricInfo kPlanPredictedSeconds;
extern const MetricInfo kPlanMeasuredSeconds;
extern const MetricInfo kPlanPredictedIterationSeconds;
extern const MetricInfo kPlanDriftRatio;
extern const MetricInfo kModelVariance;
extern const MetricInfo kModelVarianceError;
}  // namespace metric

// In the order of the reference.
std::span<const MetricInfo* const> AllMetrics();

const char* MetricTypeName(MetricType type);

// docs/reference/metrics.md's table.
std::string MetricsReference();

}  // namespace weft
