// What a run leaves in its run directory beside the model and the checkpoints: plan.json, timeline.json, metrics.jsonl
// and summary.json (trace_file.h has trace.json). docs/format/run-directory.md has each field.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/plan/plan.h"
#include "common/status.h"
#include "coordinator/service/run_statistics.h"
#include "proto/coordinator.pb.h"

namespace weft {

// What summary.json tells beside the totals.
struct SummaryFacts {
  std::string job;
  std::string command;  // as it was typed; empty: not known
  std::string started;  // UTC
  std::string ended;
  std::vector<std::pair<std::string, std::vector<std::string>>> hosts;  // with the ranks on each: "worker 0"
  std::vector<std::pair<std::string, std::string>> software;            // with its version
  std::string strategy;
  std::string model;
  int workers = 0;
  int servers = 0;
  std::uint64_t seed = 0;
  std::string transport;
  std::string topology;  // "Ring"; empty: the strategy has none
  std::int64_t parameters = 0;
  int exit_code = 0;
  bool diverged = false;
  std::string message;        // why it ended, when not by itself
  Quantiles compute_seconds;  // of an iteration of compute alone
  std::string model_path;     // empty: none was saved
  std::vector<v1::ServerReport> server_reports;
};

std::string SummaryJson(const Plan& plan, const RunTotals& totals, const SummaryFacts& facts);

// metrics.jsonl: a line for each worker's iteration, for each evaluation, and for each Gamma from sketches. Not
// thread-safe.
class MetricsFile {
 public:
  // Goes on with the file after `start_iteration`: later lines, and a torn last one, are taken out, and a line tells of
  // the restart. Of a worker's own
  // iterations those after its entry in `worker_iterations`, where that is not empty. Errors of the file.
  static Result<std::unique_ptr<MetricsFile>> Open(const std::string& path, std::int64_t start_iteration,
                                                   const std::vector<std::int64_t>& worker_iterations = {});
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  // Lines are kept until Flush.
  void Add(int rank, const v1::IterationReport& report);
  void AddEvaluation(const v1::EvaluationResult& evaluation);
  void AddModelVariance(std::int64_t iteration, double variance, double relative_error);
  // RESOURCE_EXHAUSTED: the disk is full. Others: the errno's code.
  Status Flush();

 private:
  MetricsFile(std::string path, int file) : path_(std::move(path)), file_(file) {}

  const std::string path_;
  const int file_;
  std::string pending_;
};

}  // namespace weft
