#include "agent/train/agent_metrics.h"

#include <algorithm>
#include <cstddef>

namespace weft {

Result<std::unique_ptr<AgentMetrics>> AgentMetrics::Start(const std::string& job, int port) {
  std::unique_ptr<AgentMetrics> metrics(new AgentMetrics(job));
  WEFT_ASSIGN_OR_RETURN(metrics->exporter_, MetricsExporter::Start(metrics->registry_, "127.0.0.1", port));
  return metrics;
}

WorkerMetrics::WorkerMetrics(MetricsRegistry& registry, int groups)
    : iteration_(registry.MakeHistogram(metric::kIterationSeconds)),
      compute_(registry.MakeHistogram(metric::kComputeSeconds)),
      stall_(registry.MakeCounter(metric::kStallSeconds)),
      overruns_(registry.MakeCounter(metric::kSlotOverruns)),
      start_error_(registry.MakeHistogram(metric::kSlotStartError)),
      staleness_(registry.MakeHistogram(metric::kStaleness)),
      loss_(registry.MakeGauge(metric::kLoss)) {
  for (int group = 0; group < groups; ++group) {
    const std::string label = std::to_string(group);
    groups_.push_back({registry.MakeCounter(metric::kTransferBytes, {"push", label}),
                       registry.MakeCounter(metric::kTransferBytes, {"pull", label}),
                       registry.MakeGauge(metric::kSlotBandwidth, {label})});
  }
}

void WorkerMetrics::Record(const IterationRecord& record, const BatchResult& result, double staleness_iterations) {
  iteration_.Observe(ToSeconds(record.end - record.start));
  compute_.Observe(ToSeconds(record.end - record.start - record.stall));
  stall_.Increment(ToSeconds(record.stall));
  if (result.predictions > 0) loss_.Set(result.loss_sum / static_cast<double>(result.predictions));
  for (const TransferRecord& transfer : record.transfers) {
    Group& group = groups_[static_cast<std::size_t>(transfer.group)];
    group.pushed.Increment(static_cast<double>(transfer.push_bytes));
    group.pulled.Increment(static_cast<double>(transfer.pull_bytes));
    const double seconds = ToSeconds(transfer.end - transfer.granted);
    if (seconds > 0) {
      group.bandwidth.Set(static_cast<double>(std::max(transfer.push_bytes, transfer.pull_bytes)) / seconds);
    }
    if (transfer.overrun) overruns_.Increment();
    start_error_.Observe(std::max(0.0, ToSeconds(transfer.granted - transfer.planned_start)));
  }
  if (!record.transfers.empty()) staleness_.Observe(staleness_iterations);
}

ServerMetrics::ServerMetrics(MetricsRegistry& registry)
    : receiving_(registry.MakeGauge(metric::kServerConcurrentTransfers, {"push"})),
      sending_(registry.MakeGauge(metric::kServerConcurrentTransfers, {"pull"})),
      accuracy_(registry.MakeGauge(metric::kAccuracy)) {}

void ServerMetrics::Record(const ServerStatistics& statistics) {
  receiving_.Set(statistics.received.active);
  sending_.Set(statistics.sent.active);
}

}  // namespace weft
