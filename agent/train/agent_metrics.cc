#include "agent/train/agent_metrics.h"

#include <algorithm>
#include <cstddef>

namespace weft {

Result<std::unique_ptr<AgentMetrics>> AgentMetrics::Start(const std::string& job, const std::string& host, int port) {
  std::unique_ptr<AgentMetrics> metrics(new AgentMetrics(job));
  if (port < 0) return metrics;
  WEFT_ASSIGN_OR_RETURN(metrics->exporter_, MetricsExporter::Start(metrics->registry_, host, port));
  return metrics;
}

WorkerMetrics::WorkerMetrics(MetricsRegistry& registry, int groups, bool with_servers)
    : registry_(registry),
      iteration_(registry.MakeHistogram(metric::kIterationSeconds)),
      compute_(registry.MakeHistogram(metric::kComputeSeconds)),
      stall_(registry.MakeCounter(metric::kStallSeconds)) {
  if (!with_servers) {
    sent_.emplace(registry.MakeCounter(metric::kTransferBytes, {"sent", "other"}));
    received_.emplace(registry.MakeCounter(metric::kTransferBytes, {"received", "other"}));
    return;
  }
  slots_.emplace(Slots{.overruns = registry.MakeCounter(metric::kSlotOverruns),
                       .start_error = registry.MakeHistogram(metric::kSlotStartError),
                       .staleness = registry.MakeHistogram(metric::kStaleness)});
  for (int group = 0; group < groups; ++group) {
    const std::string label = std::to_string(group);
    groups_.push_back({registry.MakeCounter(metric::kTransferBytes, {"push", label}),
                       registry.MakeCounter(metric::kTransferBytes, {"pull", label}), std::nullopt});
  }
}

void WorkerMetrics::Record(const IterationRecord& record, const BatchResult& result, double staleness_iterations) {
  iteration_.Observe(ToSeconds(record.end - record.start));
  compute_.Observe(ToSeconds(record.end - record.start - record.stall));
  stall_.Increment(ToSeconds(record.stall));
  if (result.predictions > 0) {
    if (!loss_.has_value()) loss_.emplace(registry_.MakeGauge(metric::kLoss));
    loss_->Set(result.loss_sum / static_cast<double>(result.predictions));
  }
  if (sent_.has_value()) {
    sent_->Increment(static_cast<double>(record.sent_bytes));
    received_->Increment(static_cast<double>(record.received_bytes));
    return;
  }
  for (const TransferRecord& transfer : record.transfers) {
    Group& group = groups_[static_cast<std::size_t>(transfer.group)];
    group.pushed.Increment(static_cast<double>(transfer.push_bytes));
    group.pulled.Increment(static_cast<double>(transfer.pull_bytes));
    const double seconds = ToSeconds(transfer.end - transfer.granted);
    if (seconds > 0) {
      if (!group.bandwidth.has_value()) {
        group.bandwidth.emplace(registry_.MakeGauge(metric::kSlotBandwidth, {std::to_string(transfer.group)}));
      }
      group.bandwidth->Set(static_cast<double>(std::max(transfer.push_bytes, transfer.pull_bytes)) / seconds);
    }
    if (transfer.overrun) slots_->overruns.Increment();
    slots_->start_error.Observe(std::max(0.0, ToSeconds(transfer.granted - transfer.planned_start)));
  }
  if (!record.transfers.empty()) slots_->staleness.Observe(staleness_iterations);
}

ServerMetrics::ServerMetrics(MetricsRegistry& registry)
    : receiving_(registry.MakeGauge(metric::kServerConcurrentTransfers, {"push"})),
      sending_(registry.MakeGauge(metric::kServerConcurrentTransfers, {"pull"})) {}

void ServerMetrics::Record(const ServerStatistics& statistics) {
  receiving_.Set(statistics.received.active);
  sending_.Set(statistics.sent.active);
}

void ExchangeMetrics::Record(const ExchangeStatistics& statistics) {
  for (const auto& [result, count] : statistics.interactions) {
    std::int64_t& before = interactions_[result];
    registry_.MakeCounter(metric::kSwarmInteractions, {result}).Increment(static_cast<double>(count - before));
    before = count;
  }
  if (statistics.mechanism.empty()) return;
  registry_.MakeGauge(metric::kRegisterMechanism, {statistics.mechanism}).Set(1);
  registry_.MakeGauge(metric::kQuantizerDistance).Set(statistics.quantizer_distance);
  registry_.MakeCounter(metric::kQuantizerFailures, {"low_digits"})
      .Increment(static_cast<double>(statistics.further_digit_blocks - further_digit_blocks_));
  registry_.MakeCounter(metric::kQuantizerFailures, {"all_digits"})
      .Increment(static_cast<double>(statistics.raw_blocks - raw_blocks_));
  further_digit_blocks_ = statistics.further_digit_blocks;
  raw_blocks_ = statistics.raw_blocks;
}

}  // namespace weft
