// One run: takes what the ranks say from the AttendService, lets the Generation decide, and carries out what it asks:
// messages, the plan, the files of the run directory, the events that watchers see, metrics.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/job/job_spec.h"
#include "common/plan/plan.h"
#include "common/status.h"
#include "coordinator/membership/generation.h"
#include "coordinator/planner/drift.h"
#include "coordinator/service/attend_service.h"
#include "coordinator/service/coordinator_metrics.h"
#include "coordinator/service/divergence.h"
#include "coordinator/service/measurements.h"
#include "coordinator/service/rank_board.h"
#include "coordinator/service/run_files.h"
#include "coordinator/service/run_statistics.h"
#include "coordinator/service/sketch_collector.h"
#include "coordinator/service/trace_file.h"

namespace weft {

struct CoordinatorOptions {
  std::uint64_t generation = 1;
  JobSpec job;
  std::string job_text;  // for the ranks, overrides applied
  std::string run_directory;
  std::vector<std::string> hosts;                   // the address of each rank's host; empty: all are on this machine
  std::string command;                              // as it was typed, for summary.json; empty: not known
  std::chrono::system_clock::time_point started{};  // wall clock
  // Given: nothing is measured. The first holds at the start, the others from their from_iteration on.
  std::vector<Plan> plans;
  std::string checkpoint;                       // to go on from; empty: from the beginning
  std::int64_t start_iteration = 0;             // the checkpoint's; of several workers' own the smallest
  std::vector<std::int64_t> worker_iterations;  // by worker, where each has its own
  // Tells Prometheus where the metrics are, from when all ranks are there to the end; empty: no file.
  std::string prometheus_targets;
  std::string metrics_address;  // the coordinator's own, "127.0.0.1:9400"
  // The cause of an end by a rank that died, or that did not come (`registered`: all had), with what else is known of
  // it, or in its place.
  std::function<std::string(const std::string& cause, bool registered)> explain;
};

// A run that can't begin: tells the watchers and returns the exit code.
int TellRefusal(AttendService& service, const Status& status, const std::string& run_directory);

// Used by one thread.
class Coordinator {
 public:
  // `service`, `metrics` and `clock` outlive it. Errors of metrics.jsonl.
  static Result<std::unique_ptr<Coordinator>> Make(CoordinatorOptions options, AttendService& service,
                                                   CoordinatorMetrics& metrics, Clock& clock);

  // Handles what comes until `deadline`, or until the run has ended.
  void Pump(TimePoint deadline);
  void OnLauncherEnded(const std::string& how, bool by_signal);
  void AskStop();
  // One line for the person.
  void Tell(const std::string& note);
  // Ends the run here and now; `cause` says why.
  void GiveUp(const std::string& cause);

  bool ended() const { return end_.has_value(); }
  // Once it has ended and no rank is left: writes the last files and tells the watchers. Returns the exit code.
  int Finish();

 private:
  Coordinator(CoordinatorOptions options, AttendService& service, CoordinatorMetrics& metrics, Clock& clock,
              std::unique_ptr<MetricsFile> metrics_file);

  void Handle(const ServiceEvent& event);
  void Register(StreamId stream, const v1::Register& registration, std::uint64_t generation);
  void HandleMessage(int rank, const v1::AgentMessage& message);
  void HandleReports(int rank, const v1::IterationReports& reports);
  void HandleEvaluation(v1::EvaluationResult evaluation);
  void HandleSketch(int rank, const v1::ModelSketch& sketch);
  // Ends the run: there is no model any more. `iteration`: the one after which that was seen.
  void EndDiverged(std::int64_t iteration);
  // Tells once of a worker whose loss or weights are not finite.
  void TellNotFinite(int rank, const std::string& what);
  void OnAllRegistered();
  void TellMembership();
  void Tick();
  void Apply();
  void Carry(const Action& action);
  void MakeThePlan();
  Status PlanFromMeasurements();
  // Told by the ranks' iterations: one of the plans that were given holds now.
  void TakeGivenPlan();
  // Has drifted for long enough: a plan for what is measured now, where that is worth it.
  void PlanAgainIfDue();
  // The ranks will change to it behind `iteration`: from then on it is kept.
  void TakePlan(std::int64_t iteration);
  // `plan` holds.
  void Announce(const Plan& plan);
  SummaryFacts Facts() const;
  std::string DescribeTransport() const;
  void PublishProgress();
  void Send(int rank, v1::CoordinatorMessage message);
  double compute_seconds() const;
  // The one that holds; null before there is one.
  const Plan* plan() const { return plans_.empty() ? nullptr : &plans_.back(); }

  const CoordinatorOptions options_;
  const TimePoint started_;
  AttendService& service_;
  CoordinatorMetrics& metrics_;
  Clock& clock_;
  Generation generation_;
  Measurements measurements_;
  RunStatistics statistics_;
  RankBoard board_;
  TraceCollector trace_;
  SketchCollector sketches_;
  Divergence divergence_;
  const std::unique_ptr<MetricsFile> metrics_file_;

  std::map<StreamId, int> ranks_;
  std::map<int, StreamId> streams_;
  std::map<int, int> metrics_ports_;
  std::string transport_;
  std::map<std::string, std::set<int>> hosts_;  // with their ranks
  std::set<int> not_finite_;                    // workers that were named
  std::vector<Plan> plans_;                     // that have held; the last one holds
  std::optional<DriftMonitor> drift_;           // where the run may plan again
  std::optional<Plan> next_plan_;               // ready to take its place
  std::size_t given_plans_ = 0;                 // of options_.plans, those that have held
  std::map<int, v1::ServerReport> server_reports_;
  std::string model_path_;
  TimePoint next_progress_{};
  TimePoint next_flush_{};
  std::int64_t progress_iteration_ = statistics_.iteration();  // that progress was told of
  std::optional<EndRun> end_;
};

}  // namespace weft
