#include "coordinator/service/run_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <concepts>
#include <fstream>
#include <map>
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

Json ToJson(const std::map<std::uint32_t, GroupTotals>& groups) {
  Json all = Json::array();
  for (const auto& [index, group] : groups) {
    const auto mean = [transfers = group.transfers](double sum) { return sum / static_cast<double>(transfers); };
    all.push_back({{"group", index},
                   {"transfers", group.transfers},
                   {"push_bytes", group.push_bytes},
                   {"pull_bytes", group.pull_bytes},
                   {"overruns", group.overruns},
                   {"transfer_seconds", mean(group.transfer_seconds)},
                   {"grant_wait_seconds", mean(group.grant_wait_seconds)},
                   {"start_error_seconds", mean(group.late_seconds)}});
  }
  return all;
}

// Writes JSON objects straight into a text: there are thousands of iterations a second, and a tree of each costs ten
// times as much.
class LineWriter {
 public:
  explicit LineWriter(std::string* text) : text_(*text) {}

  void Open(char bracket) {
    text_ += bracket;
    first_ = true;
  }
  // Before an object in an array.
  void Next() { Separate(); }
  void Close(char bracket) {
    text_ += bracket;
    first_ = false;
  }
  // The next value's name.
  void Key(const char* name) {
    Separate();
    text_ += '"';
    text_ += name;
    text_ += "\":";
    first_ = true;
  }
  void Value(std::integral auto value) {
    Separate();
    Append(value);
  }
  // JSON has no NaN.
  void Value(double value) {
    Separate();
    if (!std::isfinite(value)) {
      text_ += "null";
      return;
    }
    const std::size_t begin = text_.size();
    Append(value);
    // As other writers of JSON do, so that a reader sees that it is no integer.
    if (text_.find_first_of(".e", begin) == std::string::npos) text_ += ".0";
  }
  void Value(bool value) {
    Separate();
    text_ += value ? "true" : "false";
  }
  void Field(const char* name, auto value) {
    Key(name);
    Value(value);
  }

 private:
  void Separate() {
    if (!first_) text_ += ',';
    first_ = false;
  }
  void Append(auto value) {
    std::array<char, 32> digits;
    text_.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
  }

  std::string& text_;
  bool first_ = true;
};

void Write(const v1::Transfer& transfer, std::int64_t origin_ns, LineWriter& line) {
  line.Field("group", transfer.group());
  line.Field("slot", transfer.slot());
  line.Field("server", transfer.server());
  line.Field("round", transfer.round());
  line.Field("planned_start_us", Us(transfer.planned_start_ns() - origin_ns));
  line.Field("start_us", Us(transfer.start_ns() - origin_ns));
  line.Field("granted_us", Us(transfer.granted_ns() - origin_ns));
  line.Field("transfer_us", Us(transfer.end_ns() - transfer.granted_ns()));
  line.Field("push_bytes", transfer.push_bytes());
  line.Field("pull_bytes", transfer.pull_bytes());
  line.Field("staleness_wait_us", Us(transfer.staleness_wait_ns()));
  line.Field("overrun", transfer.overrun());
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

}  // namespace

std::string SummaryJson(const Plan& plan, const RunTotals& totals, const SummaryFacts& facts) {
  Json json = {{"job", facts.job},
               {"strategy", facts.strategy},
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
  json["groups"] = ToJson(totals.groups);
  Json reports = Json::array();
  for (const v1::ServerReport& report : facts.server_reports) {
    reports.push_back({{"busy_seconds", report.busy_seconds()},
                       {"concurrent_seconds", report.concurrent_seconds()},
                       {"peak_bytes_per_second", report.peak_bytes_per_second()},
                       {"received_bytes", report.received_bytes()},
                       {"sent_bytes", report.sent_bytes()}});
  }
  json["server_links"] = std::move(reports);
  json["command"] = facts.command;
  json["started"] = facts.started;
  json["ended"] = facts.ended;
  json["hosts"] = Json::array();
  for (const auto& [name, ranks] : facts.hosts) json["hosts"].push_back({{"name", name}, {"ranks", ranks}});
  json["software"] = Json::object();
  for (const auto& [name, version] : facts.software) json["software"][name] = version;
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
  std::unique_ptr<MetricsFile> metrics(new MetricsFile(path, file));
  if (start_iteration > 0) {
    metrics->pending_ = Json({{"iteration", start_iteration}, {"resumed", true}}).dump() + "\n";
    WEFT_RETURN_IF_ERROR(metrics->Flush());
  }
  return metrics;
}

MetricsFile::~MetricsFile() { close(file_); }

void MetricsFile::Add(int rank, const v1::IterationReport& report) {
  const double predictions = static_cast<double>(std::max<std::int64_t>(report.predictions(), 1));
  LineWriter line(&pending_);
  line.Open('{');
  line.Field("iteration", report.iteration());
  line.Field("epoch", report.epoch());
  line.Field("rank", rank);
  line.Field("start_ns", report.start_ns());
  line.Field("iteration_us", Us(report.end_ns() - report.start_ns()));
  line.Field("forward_us", Us(report.forward_end_ns() - report.start_ns()));
  line.Field("stall_us", Us(report.stall_ns()));
  line.Field("communication_us", Us(report.communication_ns()));
  line.Field("sent_bytes", report.sent_bytes());
  line.Field("received_bytes", report.received_bytes());
  line.Key("group_stall_us");
  line.Open('[');
  for (const double stall : report.group_stall_us()) line.Value(stall);
  line.Close(']');
  line.Field("loss", report.loss_sum() / predictions);
  line.Field("accuracy", static_cast<double>(report.correct()) / predictions);
  line.Field("samples", report.samples());
  line.Field("staleness_iterations", report.staleness_iterations());
  line.Key("transfers");
  line.Open('[');
  for (const v1::Transfer& transfer : report.transfers()) {
    line.Next();
    line.Open('{');
    Write(transfer, report.start_ns(), line);
    line.Close('}');
  }
  line.Close(']');
  line.Close('}');
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

}  // namespace weft
