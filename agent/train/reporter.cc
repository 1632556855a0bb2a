#include "agent/train/reporter.h"

#include <chrono>
#include <utility>
#include <vector>

#include "common/math/sketch.h"

namespace weft {
namespace {

constexpr Duration kLongestDelay = std::chrono::milliseconds(200);

std::int64_t Nanoseconds(TimePoint time) { return time.time_since_epoch().count(); }

void Fill(const TransferRecord& record, v1::Transfer& out) {
  out.set_group(static_cast<std::uint32_t>(record.group));
  out.set_server(static_cast<std::uint32_t>(record.server));
  out.set_slot(static_cast<std::uint32_t>(record.slot));
  out.set_round(record.round);
  out.set_planned_start_ns(Nanoseconds(record.planned_start));
  out.set_start_ns(Nanoseconds(record.start));
  out.set_granted_ns(Nanoseconds(record.granted));
  out.set_end_ns(Nanoseconds(record.end));
  out.set_push_bytes(record.push_bytes);
  out.set_pull_bytes(record.pull_bytes);
  out.set_staleness_wait_ns(record.staleness_wait.count());
  out.set_overrun(record.overrun);
}

}  // namespace

Status Reporter::Add(const IterationRecord& record, const BatchResult& result, const Context& context) {
  v1::IterationReports& reports = *pending_.mutable_iterations();
  if (reports.reports().empty()) oldest_ = record.end;
  v1::IterationReport& out = *reports.add_reports();
  out.set_iteration(record.iteration);
  out.set_epoch(context.epoch);
  out.set_start_ns(Nanoseconds(record.start));
  out.set_forward_end_ns(Nanoseconds(context.forward_end));
  out.set_end_ns(Nanoseconds(record.end));
  out.set_stall_ns(record.stall.count());
  for (const double stall_us : record.group_stall_us) out.add_group_stall_us(stall_us);
  out.set_loss_sum(result.loss_sum);
  out.set_predictions(result.predictions);
  out.set_correct(result.correct);
  out.set_samples(context.samples);
  out.set_staleness_iterations(context.staleness_iterations);
  std::int64_t sent = record.sent_bytes;
  std::int64_t received = record.received_bytes;
  for (const TransferRecord& transfer : record.transfers) {
    Fill(transfer, *out.add_transfers());
    if (!context.with_servers) continue;
    sent += transfer.push_bytes;
    received += transfer.pull_bytes;
  }
  out.set_sent_bytes(sent);
  out.set_received_bytes(received);
  out.set_communication_ns(context.communication.count());
  last_iteration_ = record.iteration;
  if (clock_.Now() - oldest_ < kLongestDelay) return OkStatus();
  return Flush();
}

Status Reporter::Flush() {
  if (pending_.iterations().reports().empty()) return OkStatus();
  return coordinator_.Send(std::exchange(pending_, v1::AgentMessage()));
}

Status Reporter::AddSketch(std::int64_t iteration, std::span<const float> weights, std::uint64_t seed) {
  std::vector<double> buckets(kSketchBuckets);
  SketchOf(weights, seed, buckets);
  v1::AgentMessage message;
  message.mutable_sketch()->set_iteration(iteration);
  message.mutable_sketch()->mutable_buckets()->Add(buckets.begin(), buckets.end());
  return coordinator_.Send(std::move(message));
}

Status Reporter::AddExchange(const ExchangeStatistics& statistics) {
  v1::AgentMessage message;
  v1::ExchangeReport& out = *message.mutable_exchange();
  for (const auto& [result, count] : statistics.interactions) {
    v1::ExchangeReport::Interactions& interactions = *out.add_interactions();
    interactions.set_result(result);
    interactions.set_count(count);
  }
  out.set_further_digit_blocks(statistics.further_digit_blocks);
  out.set_raw_blocks(statistics.raw_blocks);
  out.set_quantizer_distance(statistics.quantizer_distance);
  out.set_largest_staleness(statistics.largest_staleness);
  out.set_mechanism(statistics.mechanism);
  out.set_mechanism_reason(statistics.mechanism_reason);
  return coordinator_.Send(std::move(message));
}

}  // namespace weft
