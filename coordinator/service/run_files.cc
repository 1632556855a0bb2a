#include "coordinator/service/run_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "common/plan/names.h"
#include "common/rundir/atomic_file.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

double Us(std::int64_t ns) { return static_cast<double>(ns) * 1e-3; }

Json ToJson(const Quantiles& quantiles) { return {{"median", quantiles.median}, {"p95", quantiles.p95}}; }

Json ToJson(const v1::Transfer& transfer, std::int64_t origin_ns) {
  return {{"group", transfer.group()},
          {"slot", transfer.slot()},
          {"server", transfer.server()},
          {"round", transfer.round()},
          {"planned_start_us", Us(transfer.planned_start_ns() - origin_ns)},
          {"start_us", Us(transfer.start_ns() - origin_ns)},
          {"granted_us", Us(transfer.granted_ns() - origin_ns)},
          {"transfer_us", Us(transfer.end_ns() - transfer.granted_ns())},
          {"push_bytes", transfer.push_bytes()},
          {"pull_bytes", transfer.pull_bytes()},
          {"staleness_wait_us", Us(transfer.staleness_wait_ns())},
          {"overrun", transfer.overrun()}};
}

// Keeps the lines up to `iteration`, or up to a worker's own; a line that is no JSON is a torn one.
Result<std::string> LinesThrough(const std::string& path, std::int64_t iteration,
                                 const std::vector<std::int64_t>& worker_iterations) {
  std::ifstream file(path);
  if (!file) return ErrnoError("open " + path, errno);
  std::string kept;
  for (std::string line; std::getline(file, line);) {
    const Json parsed = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!parsed.is_object() || !parsed.contains("iteration") || !parsed["iteration"].is_number_integer()) continue;
    std::int64_t last = iteration;
    if (const auto rank = parsed.find("rank"); rank != parsed.end() && rank->is_number_unsigned()) {
      const auto worker = rank->get<std::size_t>();
      if (worker < worker_iterations.size()) last = worker_iterations[worker];
    }
    if (parsed["iteration"].get<std::int64_t>() > last) continue;
    kept += line;
    kept += '\n';
  }
  return kept;
}

Json OrNull(const std::optional<double>& value) { return value.has_value() ? Json(*value) : Json(nullptr); }

// H; null for a strategy without local steps.
Json LocalSteps(const Plan& plan) {
  return plan.strategy == StrategyType::kSwarm || plan.strategy == StrategyType::kLocalSGD ? Json(plan.period) : Json();
}

// Among workers each byte that one sends another one receives; what servers send only the workers' receiving tells.
std::int64_t ReceivedFromServers(const Plan& plan, const RunTotals& totals) {
  if (!UsesParameterServers(plan.strategy)) return 0;
  return std::accumulate(totals.received_bytes.begin(), totals.received_bytes.end(), std::int64_t{0});
}

Json Slice(int process, int thread, const std::string& name, double start_us, double duration_us) {
  return {{"name", name}, {"ph", "X"}, {"pid", process}, {"tid", thread}, {"ts", start_us}, {"dur", duration_us}};
}

Json NameOf(const char* what, int process, int thread, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

}  // namespace

std::string SummaryJson(const Plan& plan, const RunTotals& totals, const SummaryFacts& facts) {
  Json json = {{"strategy", facts.strategy},
               {"model", facts.model},
               {"workers", facts.workers},
               {"servers", facts.servers},
               {"period", plan.period},
               {"local_steps", LocalSteps(plan)},
               {"quantization_bits", plan.strategy == StrategyType::kSwarm ? Json(plan.quantization_bits) : Json()},
               {"topology", facts.topology.empty() ? Json() : Json(facts.topology)},
               {"accuracy", totals.accuracy >= 0 ? Json(totals.accuracy) : Json(nullptr)},
               {"worst_accuracy", OrNull(totals.worst_accuracy)},
               {"loss", totals.loss},
               {"model_variance", OrNull(totals.model_variance)},
               {"epochs", totals.epochs},
               {"iterations", totals.iterations},
               {"seconds", totals.seconds},
               {"images_per_second", totals.seconds > 0 ? static_cast<double>(totals.samples) / totals.seconds : 0.0},
               {"iteration_seconds", ToJson(totals.iteration_seconds)},
               {"compute_seconds", ToJson(facts.compute_seconds)},
               {"stall_fraction", totals.stall_fraction},
               {"compute_per_batch_seconds", totals.compute_per_batch_seconds},
               {"communication_per_batch_seconds", totals.communication_per_batch_seconds},
               {"bytes_per_iteration", totals.bytes_per_iteration},
               {"sent_bytes", totals.sent_bytes},
               {"received_bytes", totals.received_bytes},
               {"exchanged_bits", 8 * std::accumulate(totals.sent_bytes.begin(), totals.sent_bytes.end(),
                                                      ReceivedFromServers(plan, totals))},
               {"staleness", {{"mean", totals.staleness_mean}, {"max", totals.staleness_max}}},
               {"parameters", facts.parameters},
               {"predicted_iteration_seconds", plan.iteration_us * 1e-6},
               {"seed", facts.seed},
               {"transport", facts.transport},
               {"exit_code", facts.exit_code},
               {"diverged", facts.diverged},
               {"message", facts.message},
               {"model_path", facts.model_path}};
  if (!totals.interactions.empty()) {
    json["interactions"] = totals.interactions;
    json["parallel_time"] = totals.parallel_time;
  }
  if (!totals.mechanism.empty()) {
    json["registers"] = {{"mechanism", totals.mechanism}, {"reason", totals.mechanism_reason}};
    json["quantizer_failures"] = {{"low_digits", totals.further_digit_blocks}, {"all_digits", totals.raw_blocks}};
  }
  Json reports = Json::array();
  for (const v1::ServerReport& report : facts.server_reports) {
    reports.push_back({{"busy_seconds", report.busy_seconds()},
                       {"concurrent_seconds", report.concurrent_seconds()},
                       {"peak_bytes_per_second", report.peak_bytes_per_second()},
                       {"received_bytes", report.received_bytes()},
                       {"sent_bytes", report.sent_bytes()}});
  }
  json["server_links"] = std::move(reports);
  return json.dump(2) + "\n";
}

Result<std::unique_ptr<MetricsFile>> MetricsFile::Open(const std::string& path, std::int64_t start_iteration,
                                                       const std::vector<std::int64_t>& worker_iterations) {
  if (start_iteration > 0 && access(path.c_str(), F_OK) == 0) {
    WEFT_ASSIGN_OR_RETURN(const std::string kept, LinesThrough(path, start_iteration, worker_iterations));
    WEFT_RETURN_IF_ERROR(WriteFileAtomically(path, kept));
  }
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return ErrnoError("open " + path, errno);
  return std::unique_ptr<MetricsFile>(new MetricsFile(path, file));
}

MetricsFile::~MetricsFile() { close(file_); }

void MetricsFile::Add(int rank, const v1::IterationReport& report) {
  Json transfers = Json::array();
  for (const v1::Transfer& transfer : report.transfers()) transfers.push_back(ToJson(transfer, report.start_ns()));
  Json stalls = Json::array();
  for (const double stall : report.group_stall_us()) stalls.push_back(stall);
  const double predictions = static_cast<double>(std::max<std::int64_t>(report.predictions(), 1));
  const Json line = {{"iteration", report.iteration()},
                     {"epoch", report.epoch()},
                     {"rank", rank},
                     {"start_ns", report.start_ns()},
                     {"iteration_us", Us(report.end_ns() - report.start_ns())},
                     {"forward_us", Us(report.forward_end_ns() - report.start_ns())},
                     {"stall_us", Us(report.stall_ns())},
                     {"communication_us", Us(report.communication_ns())},
                     {"sent_bytes", report.sent_bytes()},
                     {"received_bytes", report.received_bytes()},
                     {"group_stall_us", std::move(stalls)},
                     {"loss", report.loss_sum() / predictions},
                     {"accuracy", static_cast<double>(report.correct()) / predictions},
                     {"samples", report.samples()},
                     {"staleness_iterations", report.staleness_iterations()},
                     {"transfers", std::move(transfers)}};
  pending_ += line.dump();
  pending_ += '\n';
}

void MetricsFile::AddEvaluation(const v1::EvaluationResult& evaluation) {
  Json line = {{"iteration", evaluation.iteration()},
               {"epoch", evaluation.epoch()},
               {"evaluation", {{"loss", evaluation.loss()}, {"accuracy", evaluation.accuracy()}}},
               {"final", evaluation.final()}};
  if (evaluation.has_worst_accuracy()) line["evaluation"]["worst_accuracy"] = evaluation.worst_accuracy();
  if (evaluation.has_model_variance()) {
    line["model_variance"] = evaluation.model_variance();
    line["model_variance_relative_error"] = 0.0;
  }
  pending_ += line.dump();
  pending_ += '\n';
}

void MetricsFile::AddModelVariance(std::int64_t iteration, double variance, double relative_error) {
  const Json line = {
      {"iteration", iteration}, {"model_variance", variance}, {"model_variance_relative_error", relative_error}};
  pending_ += line.dump();
  pending_ += '\n';
}

Status MetricsFile::Flush() {
  while (!pending_.empty()) {
    const ssize_t written = write(file_, pending_.data(), pending_.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoError("write " + path_, errno);
    pending_.erase(0, static_cast<std::size_t>(written));
  }
  return OkStatus();
}

void TraceCollector::Add(int rank, const v1::IterationReport& report) {
  if (first_.size() < kFirstReports) {
    first_.emplace_back(rank, report);
    return;
  }
  last_.emplace_back(rank, report);
  if (last_.size() > kLastReports) last_.pop_front();
}

std::string TraceCollector::ToJson(const Plan& plan) const {
  // Threads of a rank's process: 0 its compute, then two a group, slots and transfers.
  const auto slot_thread = [](std::uint32_t group) { return 1 + 2 * static_cast<int>(group); };
  std::int64_t origin_ns = first_.empty() ? 0 : first_.front().second.start_ns();
  for (const auto& [rank, report] : first_) origin_ns = std::min(origin_ns, report.start_ns());

  Json events = Json::array();
  for (int rank = 0; rank < plan.workers; ++rank) {
    events.push_back(NameOf("process_name", rank, 0, "worker " + std::to_string(rank)));
    events.push_back(NameOf("thread_name", rank, 0, "compute"));
    for (const PlanGroup& group : plan.groups) {
      const int thread = slot_thread(static_cast<std::uint32_t>(group.index));
      events.push_back(NameOf("thread_name", rank, thread, "slots of group " + std::to_string(group.index)));
      events.push_back(NameOf("thread_name", rank, thread + 1, "transfers of group " + std::to_string(group.index)));
    }
  }
  const auto add = [&](int rank, const v1::IterationReport& report) {
    const auto at = [&](std::int64_t ns) { return Us(ns - origin_ns); };
    Json forward = Slice(rank, 0, "forward", at(report.start_ns()), Us(report.forward_end_ns() - report.start_ns()));
    forward["args"] = {{"iteration", report.iteration()}};
    Json backward =
        Slice(rank, 0, "backward", at(report.forward_end_ns()), Us(report.end_ns() - report.forward_end_ns()));
    backward["args"] = {{"iteration", report.iteration()}, {"stall_us", Us(report.stall_ns())}};
    events.push_back(std::move(forward));
    events.push_back(std::move(backward));
    for (const v1::Transfer& transfer : report.transfers()) {
      if (transfer.group() >= plan.groups.size()) continue;
      const int thread = slot_thread(transfer.group());
      Json slot = Slice(rank, thread, "slot " + std::to_string(transfer.slot()), at(transfer.planned_start_ns()),
                        plan.groups[transfer.group()].slot_us);
      slot["args"] = {{"round", transfer.round()}};
      Json slice = Slice(rank, thread + 1, "server " + std::to_string(transfer.server()), at(transfer.granted_ns()),
                         Us(transfer.end_ns() - transfer.granted_ns()));
      slice["args"] = {{"round", transfer.round()},
                       {"push_bytes", transfer.push_bytes()},
                       {"pull_bytes", transfer.pull_bytes()},
                       {"overrun", transfer.overrun()}};
      events.push_back(std::move(slot));
      events.push_back(std::move(slice));
    }
  };
  for (const auto& [rank, report] : first_) add(rank, report);
  for (const auto& [rank, report] : last_) add(rank, report);
  const Json trace = {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  return trace.dump() + "\n";
}

}  // namespace weft
