#include "common/metrics/names.h"

namespace weft {
namespace {

std::vector<double> TimeBuckets() {
  return {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 100};
}

}  // namespace

namespace metric {

const MetricInfo kIterationSeconds{"weft_iteration_seconds",
                                   MetricType::kHistogram,
                                   "worker",
                                   {},
                                   "Time from the start of an iteration to the start of the next.",
                                   TimeBuckets()};
const MetricInfo kComputeSeconds{"weft_compute_seconds",
                                 MetricType::kHistogram,
                                 "worker",
                                 {},
                                 "Time of an iteration without its stalls: forward, backward and local step.",
                                 TimeBuckets()};
const MetricInfo kStallSeconds{"weft_stall_seconds_total",
                               MetricType::kCounter,
                               "worker",
                               {},
                               "Time in which computing waited for communication."};
const MetricInfo kTransferBytes{"weft_transfer_bytes_total",
                                MetricType::kCounter,
                                "worker",
                                {"direction", "group"},
                                "Payload bytes of finished transfers; direction is push (to a server) or pull. Without "
                                "servers sent or received, in group \"other\"."};
const MetricInfo kSlotBandwidth{"weft_slot_bandwidth_bytes_per_second",
                                MetricType::kGauge,
                                "worker",
                                {"group"},
                                "Bytes per second, in the direction that had more, of the group's latest transfer."};
const MetricInfo kSlotOverruns{
    "weft_slot_overruns_total", MetricType::kCounter, "worker", {}, "Transfers that ended after their slot."};
const MetricInfo kSlotStartError{"weft_slot_start_error_seconds",
                                 MetricType::kHistogram,
                                 "worker",
                                 {},
                                 "How long after its slot's start a transfer began.",
                                 {0.00001, 0.00005, 0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1}};
const MetricInfo kStaleness{"weft_staleness_iterations",
                            MetricType::kHistogram,
                            "worker",
                            {},
                            "How many iterations old the centre was that an iteration used; of several, the oldest.",
                            {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32}};
const MetricInfo kServerConcurrentTransfers{"weft_server_concurrent_transfers",
                                            MetricType::kGauge,
                                            "server",
                                            {"direction"},
                                            "Transfers under way on the server's link; direction is push or pull."};
const MetricInfo kLoss{
    "weft_loss", MetricType::kGauge, "worker", {}, "Mean training loss of the latest iteration, in nats a prediction."};
const MetricInfo kAccuracy{"weft_accuracy",
                           MetricType::kGauge,
                           "evaluator",
                           {},
                           "Share of right predictions at the latest evaluation, from 0 to 1."};
const MetricInfo kSwarmInteractions{
    "weft_swarm_interactions_total",
    MetricType::kCounter,
    "worker",
    {"result"},
    "Averagings with a partner that this worker began, by how they ended; result averaged is the one wanted."};
const MetricInfo kQuantizerFailures{"weft_quantizer_failures_total",
                                    MetricType::kCounter,
                                    "worker",
                                    {"level"},
                                    "Blocks whose hash did not match by the digits read: level low_digits, read "
                                    "further; all_digits, read as floats."};
const MetricInfo kQuantizerDistance{"weft_quantizer_distance",
                                    MetricType::kGauge,
                                    "worker",
                                    {},
                                    "Largest difference of a weight to the partner's at the latest interaction."};
const MetricInfo kRegisterMechanism{
    "weft_register_mechanism",
    MetricType::kGauge,
    "worker",
    {"mechanism"},
    "1 for the way in which workers reach each other's registers, as the probe at the start has chosen."};
const MetricInfo kJobSlotBandwidth{
    "weft_slot_bandwidth_bytes_per_second",
    MetricType::kGauge,
    "coordinator",
    {"group", "slot"},
    "Bytes per second, in the direction that had more, of the latest transfer in each slot of each group."};
const MetricInfo kMembershipGeneration{
    "weft_membership_generation", MetricType::kGauge, "coordinator", {}, "Number of the current membership."};
const MetricInfo kWorkers{"weft_workers", MetricType::kGauge, "coordinator", {}, "Workers in the current membership."};
const MetricInfo kRecommendedWorkers{
    "weft_recommended_workers",
    MetricType::kGauge,
    "coordinator",
    {},
    "The most workers that pay on these links: each added one still brings half of what one worker does alone. Only "
    "where the run has measured."};
const MetricInfo kProgressRatio{"weft_progress_ratio",
                                MetricType::kGauge,
                                "coordinator",
                                {},
                                "Share of the iterations that are done, from 0 to 1."};
const MetricInfo kPlanPredictedSeconds{"weft_plan_predicted_seconds",
                                       MetricType::kGauge,
                                       "coordinator",
                                       {"group"},
                                       "Time that the plan predicts for one transfer of the group; for group "
                                       "\"other\" the mean of its groups."};
const MetricInfo kPlanMeasuredSeconds{"weft_plan_measured_seconds",
                                      MetricType::kGauge,
                                      "coordinator",
                                      {"group"},
                                      "Median time of the group's last 32 transfers, all workers together: what "
                                      "weft_plan_predicted_seconds stands for."};
const MetricInfo kPlanPredictedIterationSeconds{"weft_plan_predicted_iteration_seconds",
                                                MetricType::kGauge,
                                                "coordinator",
                                                {},
                                                "Time that the plan predicts for an iteration, stalls included."};
const MetricInfo kPlanDriftRatio{"weft_plan_drift_ratio",
                                 MetricType::kGauge,
                                 "coordinator",
                                 {},
                                 "Measured iteration time over the plan's prediction, less 1."};
const MetricInfo kModelVariance{"weft_model_variance",
                                MetricType::kGauge,
                                "coordinator",
                                {},
                                "Gamma: sum over the workers of the squared distance of their model to the mean."};
const MetricInfo kModelVarianceError{"weft_model_variance_relative_error",
                                     MetricType::kGauge,
                                     "coordinator",
                                     {},
                                     "RMS relative error of weft_model_variance: 0 at epoch ends, where it is exact."};

}  // namespace metric

std::span<const MetricInfo* const> AllMetrics() {
  static const std::array kAll{
      &metric::kIterationSeconds,
      &metric::kComputeSeconds,
      &metric::kStallSeconds,
      &metric::kTransferBytes,
      &metric::kSlotBandwidth,
      &metric::kSlotOverruns,
      &metric::kSlotStartError,
      &metric::kStaleness,
      &metric::kServerConcurrentTransfers,
      &metric::kLoss,
      &metric::kAccuracy,
      &metric::kSwarmInteractions,
      &metric::kQuantizerFailures,
      &metric::kQuantizerDistance,
      &metric::kRegisterMechanism,
      &metric::kJobSlotBandwidth,
      &metric::kMembershipGeneration,
      &metric::kWorkers,
      &metric::kRecommendedWorkers,
      &metric::kProgressRatio,
      &metric::kPlanPredictedSeconds,
      &metric::kPlanMeasuredSeconds,
      &metric::kPlanPredictedIterationSeconds,
      &metric::kPlanDriftRatio,
      &metric::kModelVariance,
      &metric::kModelVarianceError,
  };
  return kAll;
}

const char* MetricTypeName(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "unknown";
}

std::string MetricsReference() {
  std::string text = "| name | type | labels | exported by | meaning |\n|---|---|---|---|---|\n";
  for (const MetricInfo* info : AllMetrics()) {
    std::string labels;
    for (const char* label : info->labels) labels += (labels.empty() ? "`" : ", `") + std::string(label) + "`";
    text += "| `" + std::string(info->name) + "` | " + MetricTypeName(info->type) + " | " + labels + " | " +
            info->exported_by + " | " + info->help + " |\n";
  }
  return text;
}

}  // namespace weft
