#include "agent/train/reporter.h"

#include <chrono>
#include <utility>

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
  for (const TransferRecord& transfer : record.transfers) Fill(transfer, *out.add_transfers());
  last_iteration_ = record.iteration;
  if (clock_.Now() - oldest_ < kLongestDelay) return OkStatus();
  return Flush();
}

Status Reporter::Flush() {
  if (pending_.iterations().reports().empty()) return OkStatus();
  return coordinator_.Send(std::exchange(pending_, v1::AgentMessage()));
}

}  // namespace weft
