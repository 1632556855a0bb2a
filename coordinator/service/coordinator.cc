#include "coordinator/service/coordinator.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <thread>
#include <utility>

#include "common/job/fields.h"
#include "common/log.h"
#include "common/math/sketch.h"
#include "common/plan/json.h"
#include "common/plan/names.h"
#include "common/report/report.h"
#include "common/rundir/atomic_file.h"
#include "common/version.h"
#include "coordinator/service/job_rules.h"
#include "coordinator/service/messages.h"
#include "coordinator/service/plan_files.h"
#include "coordinator/service/prometheus_targets.h"
#include "coordinator/service/recommendation.h"

namespace weft {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(50);
constexpr Duration kProgressInterval = std::chrono::milliseconds(250);
constexpr Duration kFlushInterval = std::chrono::seconds(1);
constexpr Duration kWatcherTime = std::chrono::seconds(2);

GenerationOptions GenerationOptionsFor(const CoordinatorOptions& options) {
  const JobSpec& job = options.job;
  GenerationOptions generation;
  generation.number = options.generation;
  generation.job = job.name;
  generation.workers = job.worker.replicas;
  generation.servers = job.server.replicas;
  generation.measure = options.plans.empty();
  SetMeasurements(job, generation);
  generation.target_accuracy = job.training.target_accuracy;
  generation.start_iteration = options.start_iteration;
  generation.checkpoint_interval = std::chrono::seconds(job.checkpoint.interval_seconds);
  const Duration peer_timeout = std::chrono::seconds(job.network.peer_timeout_seconds);
  generation.register_timeout = peer_timeout;
  generation.prepare_timeout = 4 * peer_timeout;
  generation.measure_timeout = 10 * peer_timeout;
  generation.silence_timeout = 4 * peer_timeout;
  return generation;
}

// A synchronous run's checkpoint has one iteration for all.
std::vector<std::int64_t> StartOfEachWorker(const CoordinatorOptions& options) {
  if (!options.worker_iterations.empty()) return options.worker_iterations;
  return std::vector<std::int64_t>(static_cast<std::size_t>(options.job.worker.replicas), options.start_iteration);
}

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;  // Clang 16 does not deduce it by itself

}  // namespace

int TellRefusal(AttendService& service, const Status& status, const std::string& run_directory) {
  v1::RunEvent event;
  v1::Ended& told = *event.mutable_ended();
  const int exit_code = IsBadInput(status) ? 2 : 1;
  told.set_exit_code(exit_code);
  told.set_message(status.message());
  told.set_run_directory(run_directory);
  service.Publish(std::move(event));
  service.FinishWatchers(Clock::Steady().Now() + kWatcherTime);
  return exit_code;
}

Result<std::unique_ptr<Coordinator>> Coordinator::Make(CoordinatorOptions options, AttendService& service,
                                                       CoordinatorMetrics& metrics, Clock& clock) {
  WEFT_ASSIGN_OR_RETURN(
      std::unique_ptr<MetricsFile> metrics_file,
      MetricsFile::Open(options.run_directory + "/metrics.jsonl", options.start_iteration, options.worker_iterations));
  std::unique_ptr<Coordinator> coordinator(
      new Coordinator(std::move(options), service, metrics, clock, std::move(metrics_file)));
  coordinator->Apply();
  return coordinator;
}

Coordinator::Coordinator(CoordinatorOptions options, AttendService& service, CoordinatorMetrics& metrics, Clock& clock,
                         std::unique_ptr<MetricsFile> metrics_file)
    : options_(std::move(options)),
      started_(clock.Now()),
      service_(service),
      metrics_(metrics),
      clock_(clock),
      generation_(GenerationOptionsFor(options_), clock.Now()),
      measurements_(options_.job.worker.replicas, options_.job.server.replicas),
      statistics_(options_.start_iteration, StartOfEachWorker(options_)),
      board_(options_.job.worker.replicas, options_.job.server.replicas, clock.Now()),
      sketches_(options_.job.worker.replicas),
      divergence_(options_.job.worker.replicas),
      metrics_file_(std::move(metrics_file)) {
  metrics_.SetMembership(options_.generation, options_.job.worker.replicas);
}

void Coordinator::Pump(TimePoint deadline) {
  while (!ended() && clock_.Now() < deadline) {
    if (const std::optional<ServiceEvent> event = service_.WaitUntil(std::min(deadline, clock_.Now() + kTick))) {
      Handle(*event);
    }
    Tick();
    Apply();
  }
}

void Coordinator::OnLauncherEnded(const std::string& how, bool by_signal) {
  generation_.OnLauncherEnded(how, by_signal, clock_.Now());
  Apply();
}

void Coordinator::AskStop() {
  generation_.OnStopAsked(clock_.Now());
  Apply();
}

void Coordinator::GiveUp(const std::string& cause) {
  generation_.OnOwnFailure(DeadlineExceededError(cause));
  Apply();
}

void Coordinator::Handle(const ServiceEvent& event) {
  if (const auto* arrived = std::get_if<MessageArrived>(&event)) {
    const auto rank = ranks_.find(arrived->stream);
    if (arrived->message.has_register_()) {
      Register(arrived->stream, arrived->message.register_(), arrived->message.generation());
    } else if (rank == ranks_.end() || arrived->message.generation() != options_.generation) {
      service_.Close(arrived->stream, FailedPreconditionError("register with the current generation first"));
    } else {
      HandleMessage(rank->second, arrived->message);
    }
  } else if (const auto* lost = std::get_if<StreamLost>(&event)) {
    if (const auto rank = ranks_.find(lost->stream); rank != ranks_.end()) {
      generation_.OnStreamLost(rank->second, clock_.Now());
    }
  } else {
    generation_.OnStopAsked(clock_.Now());
  }
}

void Coordinator::Register(StreamId stream, const v1::Register& registration, std::uint64_t generation) {
  const int rank = static_cast<int>(registration.rank());
  // A server's second Register on one stream would rename it.
  Status status = ranks_.contains(stream) ? AlreadyExistsError("the stream is registered") : OkStatus();
  if (status.ok() && registration.role() == v1::ROLE_UNSPECIFIED) status = InvalidArgumentError("role: is missing");
  if (status.ok()) {
    status = generation_.OnRegister(
        {.generation = generation,
         .job = registration.job(),
         .role = registration.role() == v1::ROLE_SERVER ? MemberRole::kServer : MemberRole::kWorker,
         .rank = rank,
         .index = static_cast<int>(registration.index()),
         .pid = registration.pid(),
         .metrics_port = static_cast<int>(registration.metrics_port())},
        clock_.Now());
  }
  if (!status.ok()) {
    LogWarning("registration refused", {{"rank", rank}, {"reason", status.message()}});
    service_.Close(stream, status);
    return;
  }
  ranks_[stream] = rank;
  streams_[rank] = stream;
  transport_ = registration.transport();
  hosts_[registration.host()].insert(rank);
  if (registration.metrics_port() != 0) metrics_ports_[rank] = static_cast<int>(registration.metrics_port());
  const int ranks = options_.job.worker.replicas + options_.job.server.replicas;
  if (static_cast<int>(streams_.size()) == ranks) OnAllRegistered();
}

void Coordinator::TellMembership() {
  v1::RunEvent event;
  v1::Membership& membership = *event.mutable_membership();
  membership.set_job(options_.job.name);
  const int workers = options_.job.worker.replicas;
  for (int rank = 0; rank < workers + options_.job.server.replicas; ++rank) {
    v1::Member& member = *membership.add_members();
    member.set_role(rank < workers ? v1::ROLE_WORKER : v1::ROLE_SERVER);
    member.set_index(static_cast<std::uint32_t>(rank < workers ? rank : rank - workers));
    for (const auto& [host, ranks] : hosts_) {
      if (ranks.contains(rank)) member.set_host(host);
    }
  }
  service_.Publish(std::move(event));
}

void Coordinator::OnAllRegistered() {
  TellMembership();
  std::string ports;
  std::map<int, std::string> addresses;
  for (const auto& [member, port] : metrics_ports_) {
    const std::string host = options_.hosts.empty() ? "127.0.0.1" : options_.hosts.at(static_cast<std::size_t>(member));
    addresses[member] = host + ":" + std::to_string(port);
    ports += (ports.empty() ? "" : ", ") + generation_.NameOf(member) + " " +
             (options_.hosts.empty() ? std::to_string(port) : addresses[member]);
  }
  const std::string where = options_.hosts.empty() ? "127.0.0.1:PORT" : "HOST:PORT";
  if (!ports.empty()) Tell("metrics of the ranks at http://" + where + "/metrics: " + ports);
  if (!options_.prometheus_targets.empty()) {
    const Status status = WriteFileAtomically(
        options_.prometheus_targets,
        PrometheusTargets(options_.job.name, options_.job.worker.replicas, options_.metrics_address, addresses));
    // Nobody can watch, but it can train.
    if (!status.ok()) Tell("no targets for Prometheus: " + status.message());
  }
  const int ranks = options_.job.worker.replicas + options_.job.server.replicas;
  const auto processors = static_cast<int>(std::thread::hardware_concurrency());
  if (processors > 0 && ranks > processors) {
    Tell(std::to_string(ranks) + " ranks share " + std::to_string(processors) +
         " processors: what one stalls for is often another's computing");
  }
}

void Coordinator::HandleMessage(int rank, const v1::AgentMessage& message) {
  const TimePoint now = clock_.Now();
  board_.Add(rank, message, now);
  switch (message.message_case()) {
    case v1::AgentMessage::kReady:
      return generation_.OnReady(rank,
                                 {.parameter_count = message.ready().parameter_count(),
                                  .iterations_per_epoch = message.ready().iterations_per_epoch(),
                                  .total_iterations = message.ready().total_iterations(),
                                  .note = message.ready().note()},
                                 now);
    case v1::AgentMessage::kProfile:
      if (const Status status = measurements_.AddProfile(rank, message.profile()); !status.ok()) {
        return generation_.OnFailure(rank, status);
      }
      return generation_.OnProfile(rank, now);
    case v1::AgentMessage::kLink:
      if (const Status status = measurements_.AddLink(rank, message.link()); !status.ok()) {
        return generation_.OnFailure(rank, status);
      }
      return generation_.OnLink(rank, static_cast<int>(message.link().peer_rank()), now);
    case v1::AgentMessage::kIterations:
      return HandleReports(rank, message.iterations());
    case v1::AgentMessage::kPauseVote:
      return generation_.OnVote(rank, message.pause_vote().iteration(), message.pause_vote().accepted(),
                                message.pause_vote().current_iteration(), now);
    case v1::AgentMessage::kCheckpoint:
      return generation_.OnCheckpoint(rank, message.checkpoint().iteration(), message.checkpoint().path(), now);
    case v1::AgentMessage::kEvaluation:
      return HandleEvaluation(message.evaluation());
    case v1::AgentMessage::kSketch:
      return HandleSketch(rank, message.sketch());
    case v1::AgentMessage::kExchange:
      statistics_.AddExchange(rank, message.exchange());
      return generation_.OnSignOfLife(rank, now);
    case v1::AgentMessage::kEvaluationProgress:
      return generation_.OnSignOfLife(rank, now);
    case v1::AgentMessage::kDiverged:
      return EndDiverged(message.diverged().iteration());
    case v1::AgentMessage::kEndReached:
      return generation_.OnEndReached(rank, now);
    case v1::AgentMessage::kServer:
      server_reports_[rank] = message.server();
      return;
    case v1::AgentMessage::kFinished:
      return generation_.OnFinished(rank, now);
    case v1::AgentMessage::kFailure:
      return generation_.OnFailure(
          rank, Status(static_cast<StatusCode>(message.failure().code()), message.failure().message()));
    case v1::AgentMessage::kRegister:
    case v1::AgentMessage::MESSAGE_NOT_SET:
      return;
  }
}

void Coordinator::HandleReports(int rank, const v1::IterationReports& reports) {
  for (const v1::IterationReport& report : reports.reports()) {
    statistics_.Add(rank, report);
    const bool finite = std::isfinite(report.loss_sum());
    divergence_.Add(rank, report.iteration(), finite);
    if (!finite) {
      TellNotFinite(rank, "its loss is not a finite number since iteration " + std::to_string(report.iteration()));
    }
    metrics_file_->Add(rank, report);
    if (drift_.has_value()) drift_->Add(ToMeasured(rank, report));
    trace_.Add(rank, report);
    // Without servers a transfer has no slot.
    if (plan() == nullptr || !UsesParameterServers(plan()->strategy)) continue;
    for (const v1::Transfer& transfer : report.transfers()) metrics_.AddTransfer(transfer);
  }
  if (reports.reports().empty()) return;
  // Once a message: it sorts the last second's reports, and there may be thousands of both.
  generation_.OnIteration(rank, reports.reports().rbegin()->iteration(), statistics_.recent_mean_seconds(),
                          clock_.Now());
  if (generation_.total_iterations() > 0) {
    metrics_.SetProgress(statistics_.iteration(), generation_.total_iterations());
  }
  TakeGivenPlan();
  if (plan() != nullptr) metrics_.SetDrift(*plan(), statistics_.recent_iteration_seconds());
  PlanAgainIfDue();
  if (divergence_.diverged()) EndDiverged(statistics_.iteration());
}

void Coordinator::EndDiverged(std::int64_t iteration) {
  generation_.OnDiverged(divergence_.Cause(iteration, options_.job.training.optimizer.learning_rate));
}

void Coordinator::HandleEvaluation(v1::EvaluationResult evaluation) {
  // A server 0 that holds no part of the centre has heard of no iteration.
  if (evaluation.final() && evaluation.iteration() == 0) {
    evaluation.set_iteration(statistics_.iteration());
    evaluation.set_epoch(statistics_.iteration() / std::max<std::int64_t>(generation_.iterations_per_epoch(), 1));
  }
  statistics_.AddEvaluation(evaluation);
  metrics_file_->AddEvaluation(evaluation);
  if (evaluation.has_model_variance()) metrics_.SetModelVariance(evaluation.model_variance(), /*relative_error=*/0);
  for (const std::uint32_t worker : evaluation.not_finite()) {
    TellNotFinite(static_cast<int>(worker), "its model is not finite after iteration " +
                                                std::to_string(evaluation.iteration()) +
                                                " and is left out of the mean");
  }
  if (evaluation.final()) model_path_ = evaluation.model_path();
  generation_.OnEvaluation(evaluation.iteration(), evaluation.accuracy(), evaluation.final(), clock_.Now());
}

void Coordinator::HandleSketch(int rank, const v1::ModelSketch& sketch) {
  const Result<std::optional<double>> variance =
      sketches_.Add(rank, sketch.iteration(), {sketch.buckets().begin(), sketch.buckets().end()});
  if (!variance.ok()) return generation_.OnFailure(rank, variance.status());
  if (!variance->has_value()) return;
  statistics_.SetModelVariance(**variance);
  metrics_.SetModelVariance(**variance, SketchRelativeError());
  metrics_file_->AddModelVariance(sketch.iteration(), **variance, SketchRelativeError());
}

void Coordinator::TellNotFinite(int rank, const std::string& what) {
  if (not_finite_.insert(rank).second) Tell(generation_.NameOf(rank) + ": " + what);
}

void Coordinator::Tick() {
  const TimePoint now = clock_.Now();
  generation_.OnTick(now);
  if (now >= next_progress_ && statistics_.iteration() > progress_iteration_) {
    next_progress_ = now + kProgressInterval;
    progress_iteration_ = statistics_.iteration();
    PublishProgress();
  }
  if (now >= next_flush_) {
    next_flush_ = now + kFlushInterval;
    if (const Status status = metrics_file_->Flush(); !status.ok()) generation_.OnOwnFailure(status);
  }
}

void Coordinator::Apply() {
  // Carrying out one action may ask for more.
  for (std::vector<Action> actions = generation_.TakeActions(); !actions.empty(); actions = generation_.TakeActions()) {
    for (const Action& action : actions) Carry(action);
  }
}

void Coordinator::Carry(const Action& action) {
  std::visit(
      Overloaded{[&](const SendPrepare& send) {
                   v1::CoordinatorMessage message;
                   v1::Prepare& prepare = *message.mutable_prepare();
                   prepare.set_job_yaml(options_.job_text);
                   prepare.set_run_directory(options_.run_directory);
                   prepare.set_workers(static_cast<std::uint32_t>(options_.job.worker.replicas));
                   prepare.set_servers(static_cast<std::uint32_t>(options_.job.server.replicas));
                   prepare.set_checkpoint(options_.checkpoint);
                   Send(send.rank, std::move(message));
                 },
                 [&](const SendTrain& send) {
                   v1::CoordinatorMessage message;
                   message.mutable_train()->set_plan_json(PlanToJson(*plan()));
                   message.mutable_train()->set_sketch_period(SketchPeriod(*plan()));
                   message.mutable_train()->set_asynchronous(IsAsynchronous(*plan()));
                   for (std::size_t i = 1; i < options_.plans.size(); ++i) {
                     message.mutable_train()->add_later_plans_json(PlanToJson(options_.plans[i]));
                   }
                   Send(send.rank, std::move(message));
                 },
                 [&](const SendCommitPause& send) {
                   v1::CoordinatorMessage message = ToMessage(send);
                   if (send.purpose == PausePurpose::kChangePlan) {
                     message.mutable_commit_pause()->set_plan_json(PlanToJson(*next_plan_));
                   }
                   Send(send.rank, std::move(message));
                 },
                 [&](const AskForPlan&) { MakeThePlan(); }, [&](const TakeNewPlan& take) { TakePlan(take.iteration); },
                 [&](const PlanChanged&) {
                   if (drift_.has_value()) drift_->Rebase(*next_plan_);
                   Announce(*std::exchange(next_plan_, std::nullopt));
                 },
                 [&](const TellStage& stage) {
                   LogInfo("stage", {{"text", stage.text}});
                   v1::RunEvent event;
                   event.mutable_stage()->set_text(stage.text);
                   service_.Publish(std::move(event));
                 },
                 [&](const TellNote& told) { Tell(told.text); },
                 [&](const EndRun& end) {
                   end_ = end;
                   if (end.unexplained && options_.explain) {
                     end_->message = options_.explain(
                         end.message,
                         /*registered=*/streams_.size() ==
                             static_cast<std::size_t>(options_.job.worker.replicas + options_.job.server.replicas));
                   }
                   if (end.exit_code == 1 || end.exit_code == 2) LogError("run failed", {{"cause", end_->message}});
                 },
                 [&](const auto& send) { Send(send.rank, ToMessage(send)); }},
      action);
}

void Coordinator::Send(int rank, v1::CoordinatorMessage message) {
  const auto stream = streams_.find(rank);
  if (stream == streams_.end()) return;
  message.set_generation(options_.generation);
  service_.Send(stream->second, std::move(message));
}

void Coordinator::MakeThePlan() {
  Status status;
  if (!options_.plans.empty()) {
    status = CheckChanges(options_.plans, generation_.iterations_per_epoch());
    if (status.ok()) status = WritePlan(options_.run_directory, options_.plans[0]);
    // A run that is stopped before these hold goes on to them when it is resumed.
    for (std::size_t i = 1; i < options_.plans.size() && status.ok(); ++i) {
      status = KeepPlan(options_.run_directory, options_.plans[i]);
    }
    if (status.ok()) Announce(options_.plans[0]);
    given_plans_ = 1;
  } else {
    status = PlanFromMeasurements();
  }
  generation_.OnPlanMade(status, status.ok() && IsAsynchronous(*plan()), clock_.Now());
}

Status Coordinator::PlanFromMeasurements() {
  WEFT_ASSIGN_OR_RETURN(const PlanRequest request, RequestFor(options_.job, measurements_));
  WEFT_RETURN_IF_ERROR(
      WriteFileAtomically(options_.run_directory + "/timeline.json", TimelineToJson(request.timeline)));
  WEFT_ASSIGN_OR_RETURN(const Plan plan, MakePlan(request));
  WEFT_RETURN_IF_ERROR(WritePlan(options_.run_directory, plan));
  const Result<int> workers = RecommendedWorkers(options_.job, plan.strategy, measurements_);
  if (workers.ok()) metrics_.SetRecommendedWorkers(*workers);
  if (options_.job.strategy.replan && plan.workers > 1 && CanChangePlan(plan.strategy)) drift_.emplace(request, plan);
  Announce(plan);
  return OkStatus();
}

void Coordinator::Announce(const Plan& plan) {
  plans_.push_back(plan);
  metrics_.SetPlan(plan);
  if (plan.from_iteration > 1) {
    LogInfo("plan changed", {{"from_iteration", plan.from_iteration}, {"cause", plan.cause}});
  }
  v1::RunEvent event;
  event.mutable_plan()->set_plan_json(PlanToJson(plan));
  service_.Publish(std::move(event));
}

void Coordinator::TakeGivenPlan() {
  // The ranks change by themselves, each behind the same iteration.
  if (given_plans_ == 0 || given_plans_ >= options_.plans.size()) return;
  const Plan& next = options_.plans[given_plans_];
  if (statistics_.iteration() < next.from_iteration) return;
  ++given_plans_;
  if (const Status status = WritePlan(options_.run_directory, next); !status.ok()) {
    return generation_.OnOwnFailure(status);
  }
  Announce(next);
}

void Coordinator::PlanAgainIfDue() {
  if (!drift_.has_value() || next_plan_.has_value() || !drift_->due()) return;
  const Result<PlanProposal> proposal = drift_->Propose();
  if (!proposal.ok() || !proposal->plan.has_value()) {
    LogInfo("the plan stays",
            {{"drift", drift_->drift()}, {"cause", proposal.ok() ? proposal->cause : proposal.status().message()}});
    return drift_->Rebase();
  }
  const bool interleaved = plan()->strategy == StrategyType::kInterleavedPS;
  const std::int64_t distance = interleaved ? plan()->period : 1;
  if (generation_.iterations_per_epoch() < distance) {
    Tell("the plan stays, though " + proposal->cause + ": an epoch has fewer iterations than the period");
    return drift_.reset();
  }
  next_plan_ = proposal->plan;
  generation_.OnPlanReady(distance, clock_.Now());
}

void Coordinator::TakePlan(std::int64_t iteration) {
  next_plan_->from_iteration = iteration + 1;
  if (const Status status = WritePlan(options_.run_directory, *next_plan_); !status.ok()) {
    generation_.OnOwnFailure(status);
  }
}

void Coordinator::PublishProgress() {
  v1::RunEvent event;
  *event.mutable_progress() =
      statistics_.Now(generation_.iterations_per_epoch(), generation_.total_iterations(), compute_seconds());
  board_.Fill(clock_.Now(), event.mutable_progress());
  service_.Publish(std::move(event));
}

void Coordinator::Tell(const std::string& note) {
  LogInfo("note", {{"text", note}});
  v1::RunEvent event;
  event.mutable_note()->set_text(note);
  service_.Publish(std::move(event));
}

double Coordinator::compute_seconds() const {
  if (!measurements_.compute_seconds().empty()) return QuantilesOf(measurements_.compute_seconds()).median;
  return plan() != nullptr ? plan()->compute_us * 1e-6 : 0;
}

std::string Coordinator::DescribeTransport() const {
  const bool shared_memory = hosts_.size() == 1 && ranks_.size() > 1 && transport_.find("vader") != std::string::npos;
  return transport_ + (shared_memory ? "; all ranks are on one host, their messages go through shared memory" : "");
}

SummaryFacts Coordinator::Facts() const {
  SummaryFacts facts;
  facts.job = options_.job.name;
  facts.command = options_.command;
  facts.started = UtcText(options_.started);
  facts.ended = UtcText(options_.started +
                        std::chrono::duration_cast<std::chrono::system_clock::duration>(clock_.Now() - started_));
  for (const auto& [host, ranks] : hosts_) {
    auto& names = facts.hosts.emplace_back(host, std::vector<std::string>()).second;
    for (const int rank : ranks) names.push_back(generation_.NameOf(rank));
  }
  facts.software = {{"weft", Version()}, {"compiler", Compiler()}, {"gRPC", grpc::Version()}, {"kernel", Kernel()}};
  facts.strategy = Name(plan() != nullptr ? plan()->strategy : options_.job.strategy.type);
  facts.model = FindField("spec.model.name")->choices.at(static_cast<std::size_t>(options_.job.model.name));
  facts.workers = options_.job.worker.replicas;
  facts.servers = options_.job.server.replicas;
  facts.seed = options_.job.training.seed;
  facts.transport = DescribeTransport();
  facts.topology = TopologyName(options_.job, plan() != nullptr ? plan()->strategy : options_.job.strategy.type);
  facts.parameters = generation_.parameter_count();
  facts.exit_code = end_->exit_code;
  facts.message = end_->message;
  facts.diverged = end_->diverged;
  facts.compute_seconds = measurements_.compute_seconds().empty() ? Quantiles{compute_seconds(), compute_seconds()}
                                                                  : QuantilesOf(measurements_.compute_seconds());
  facts.model_path = model_path_;
  for (const auto& [rank, report] : server_reports_) facts.server_reports.push_back(report);
  return facts;
}

int Coordinator::Finish() {
  WEFT_CHECK(ended()) << "the run goes on";
  if (!options_.prometheus_targets.empty()) {
    std::error_code ignored;  // a file that was not written, or that somebody took away
    std::filesystem::remove(options_.prometheus_targets, ignored);
  }
  const Plan last = plan() != nullptr ? *plan() : Plan{};
  const std::string summary_path = options_.run_directory + "/summary.json";
  // A resumed run that ends before it trains leaves what the part before has told.
  const bool adds = options_.start_iteration == 0 || statistics_.trained();
  const bool writes = adds || !std::filesystem::exists(summary_path);
  std::string summary;
  if (writes) summary = SummaryJson(last, statistics_.Totals(generation_.iterations_per_epoch()), Facts());
  Status status = metrics_file_->Flush();
  if (status.ok() && writes) {
    status = WriteFileAtomically(options_.run_directory + "/trace.json", trace_.ToJson(plans_));
  }
  if (status.ok() && writes) status = WriteFileAtomically(summary_path, summary);
  // Made from the files, so it can be made again.
  const Status report = WriteReport(std::array{options_.run_directory}, options_.run_directory + "/report.html");
  if (!report.ok()) LogWarning("no report", {{"cause", report.message()}});
  if (!status.ok() && end_->exit_code == 0) *end_ = {.exit_code = 1, .message = status.message(), .resumable = false};

  v1::RunEvent event;
  v1::Ended& told = *event.mutable_ended();
  told.set_exit_code(end_->exit_code);
  told.set_message(end_->message);
  if (adds) told.set_summary_json(summary);
  told.set_run_directory(options_.run_directory);
  told.set_resumable(end_->resumable);
  service_.Publish(std::move(event));
  service_.FinishWatchers(clock_.Now() + kWatcherTime);
  return end_->exit_code;
}

}  // namespace weft
