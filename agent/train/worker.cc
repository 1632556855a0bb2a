// A worker's part of a run. The loop in RunIterations is the training; everything else prepares it, saves it or reports
// on it.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/data/loader.h"
#include "agent/dataplane/data_plane.h"
#include "agent/train/agent_metrics.h"
#include "agent/train/checkpoint.h"
#include "agent/train/layer_timer.h"
#include "agent/train/model_outbox.h"
#include "agent/train/optimizer.h"
#include "agent/train/plane_factory.h"
#include "agent/train/plane_observer.h"
#include "agent/train/rank_context.h"
#include "agent/train/reporter.h"
#include "agent/train/role.h"
#include "agent/train/schedule.h"
#include "agent/train/state_exchange.h"
#include "agent/train/worker_state.h"
#include "agent/train/writer.h"
#include "agent/transport/probe.h"
#include "common/log.h"
#include "common/plan/json.h"

namespace weft {
namespace {

// Workers that share a machine slow each other down, as they will in training, only while they measure at the same
// time: for longer than their starts are apart.
constexpr Duration kLeastProfile = std::chrono::seconds(1);
// How often a plane without servers tells what it has exchanged.
constexpr Duration kExchangeInterval = std::chrono::seconds(1);
// How often an asynchronous worker that waits for room in the evaluation's queue looks whether it should pause.
constexpr Duration kPauseLookout = std::chrono::milliseconds(20);

Batch ViewOf(const Samples& samples) {
  return {.size = samples.size, .inputs = samples.inputs, .labels = samples.labels, .tokens = samples.tokens};
}

std::vector<FloatRange> RunningStatistics(const Model& model) {
  std::vector<FloatRange> ranges;
  for (const Layer& layer : model.layers()) {
    for (const Parameter& parameter : layer.parameters) {
      if (parameter.running_statistic) ranges.push_back({parameter.first, parameter.count()});
    }
  }
  return ranges;
}

class Worker : public Role {
 public:
  explicit Worker(RankContext& context) : context_(context) {}

  Status Prepare(v1::Ready& ready) override;
  Status MeasureProfile(const v1::MeasureProfile& request) override;
  Status MeasureLink(const v1::MeasureLink& request) override;
  Status Train(const Plan& plan, const v1::Train& request) override;
  Status OnPause(const v1::CommitPause&) override { return OkStatus(); }
  void OnIdle() override {}
  PauseGate::Vote VoteOnPause(std::int64_t iteration) override { return context_.gate.Propose(iteration); }

 private:
  enum class Outcome { kComplete, kStopped };

  Status MakeThePlane();
  Result<Outcome> RunIterations(Reporter& reporter);
  Status RunIteration(std::int64_t iteration, PlaneObserver& observer, Reporter& reporter);
  void TakeLocalStep(FloatRange range, std::int64_t iteration);
  // Reports between and after the iterations.
  Status ReportModel(std::int64_t iteration, Reporter& reporter);
  Status ReportExchangeIfDue(Reporter& reporter);
  Status ReportExchange(Reporter& reporter);
  double StalenessIterations(const IterationRecord& record) const;
  // Hands this worker's model at an epoch's end to the evaluation, where it is of use there. True: the run stops.
  Result<bool> EndEpoch(std::int64_t iteration, Reporter& reporter);
  Status SendModel(StateMessage& snapshot, TimePoint deadline);
  // What a pause at the end of `iteration` asks for. True: the run stops.
  Result<bool> CarryOutPause(PauseAction action, std::int64_t iteration, Reporter& reporter);
  Status SaveState(std::int64_t iteration);
  // The plan to change to behind `iteration`, when the run was given one for it.
  Status ChangePlanIfDue(std::int64_t iteration);
  // All workers stand behind `iteration`: goes on with a plane of this plan, which loses nothing of the one before.
  Status ChangePlan(const Plan& plan, std::int64_t iteration);
  // Behind the last iteration of an asynchronous run: until all others are there. True: the run stops.
  Result<bool> WaitForTheOthers(std::int64_t iteration, Reporter& reporter);

  Model& model() { return *context_.model; }
  bool with_servers() const { return UsesParameterServers(plan_.strategy); }
  // Whether this worker's model is evaluated, by itself or in the mean.
  bool sends_model() const {
    const ModelPlace place = ModelPlaceOf(plan_);
    return place == ModelPlace::kWorkers || (place == ModelPlace::kWorker0 && context_.rank == 0);
  }

  RankContext& context_;
  std::optional<Loader> loader_;
  std::function<double(std::int64_t)> learning_rate_;
  std::unique_ptr<Optimizer> optimizer_;
  Samples samples_;
  Plan plan_;
  bool asynchronous_ = false;
  std::int64_t sketch_period_ = 0;
  std::optional<WorkerMetrics> metrics_;
  std::optional<ExchangeMetrics> exchange_metrics_;
  TimePoint next_exchange_{};
  Duration local_steps_time_{};  // of the iteration that runs
  std::int64_t first_iteration_ = 1;
  std::vector<PlaneTensor> plane_state_;  // of the checkpoint, until the plane exists
  std::unique_ptr<DataPlane> plane_;
  std::optional<PlaneObserver> observer_;
  std::size_t next_later_plan_ = 0;    // of context_.later_plans
  std::optional<RunWriter> writer_;    // where this rank is the one that writes
  std::optional<ModelOutbox> outbox_;  // where it is not, and sends its model
};

Status Worker::Prepare(v1::Ready& ready) {
  const TrainingSpec& training = context_.job.training;
  WEFT_ASSIGN_OR_RETURN(loader_, Loader::Create(*context_.dataset, {.seed = training.seed,
                                                                    .batch_per_worker = training.batch_size_per_worker,
                                                                    .workers = context_.workers,
                                                                    .worker = context_.rank,
                                                                    .partition = context_.job.data.partition}));
  const std::int64_t per_epoch = loader_->iterations_per_epoch();
  const std::int64_t total = TotalIterations(context_);
  learning_rate_ = [training, per_epoch, total](std::int64_t i) { return LearningRate(training, per_epoch, total, i); };
  optimizer_ = std::make_unique<Optimizer>(training.optimizer, model().weights(), model().gradients(), learning_rate_,
                                           RunningStatistics(model()));

  if (!context_.checkpoint.empty()) {
    StateMessage state;
    if (context_.is_writer()) {
      WEFT_ASSIGN_OR_RETURN(RestoredRun restored, RestoreRun(context_));
      state = std::move(restored.worker);
      ready.set_note(restored.note);
    } else {
      WEFT_ASSIGN_OR_RETURN(state, ReceiveState(*context_.transport, context_.writer_rank(), StatePurpose::kRestore,
                                                context_.state_deadline()));
    }
    first_iteration_ = state.iteration + 1;
    WEFT_ASSIGN_OR_RETURN(plane_state_, PutState(state, model(), *optimizer_));
  }
  ready.set_parameter_count(context_.parameter_count());
  ready.set_iterations_per_epoch(per_epoch);
  ready.set_total_iterations(total);
  return OkStatus();
}

Status Worker::MeasureProfile(const v1::MeasureProfile& request) {
  const auto warmup = static_cast<int>(request.warmup_iterations());
  const auto iterations = static_cast<std::int64_t>(request.iterations()) + warmup;
  LayerTimer timer(model().layers(), *context_.clock);
  const TimePoint least = context_.clock->Now() + kLeastProfile;
  for (std::int64_t i = 0; i < iterations || context_.clock->Now() < least; ++i) {
    loader_->Load(1 + i % loader_->iterations_per_epoch(), samples_);
    timer.BeginIteration();
    WEFT_ASSIGN_OR_RETURN(const BatchResult result, model().TrainStep(ViewOf(samples_), timer));
    (void)result;
    timer.EndBackward();
    optimizer_->Step({0, context_.parameter_count()}, 1);
    timer.EndIteration();
  }
  // As if nothing had been trained yet.
  WEFT_RETURN_IF_ERROR(InitializeWeights(context_));
  optimizer_->Reset();

  v1::AgentMessage message;
  message.mutable_profile()->set_timeline_json(TimelineToJson(timer.Median(warmup)));
  for (const double seconds : timer.IterationSeconds(warmup)) message.mutable_profile()->add_iteration_seconds(seconds);
  return context_.coordinator->Send(std::move(message));
}

Status Worker::MeasureLink(const v1::MeasureLink& request) {
  const auto peer = static_cast<int>(request.peer_rank());
  if (peer == context_.rank) {
    return ProbeAsPonger(*context_.transport, static_cast<int>(request.worker_rank()), context_.peer_deadline());
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<ProbeSample> samples,
                        ProbeAsPinger(*context_.transport, peer, *context_.clock, context_.peer_deadline()));
  v1::AgentMessage message;
  message.mutable_link()->set_peer_rank(request.peer_rank());
  for (const ProbeSample& sample : samples) {
    v1::LinkSample& out = *message.mutable_link()->add_samples();
    out.set_bytes(sample.bytes);
    out.set_seconds(sample.seconds);
  }
  return context_.coordinator->Send(std::move(message));
}

Status Worker::Train(const Plan& plan, const v1::Train& request) {
  plan_ = plan;
  sketch_period_ = request.sketch_period();
  asynchronous_ = request.asynchronous();
  metrics_.emplace(context_.metrics->registry(), static_cast<int>(plan.groups.size()), with_servers());
  exchange_metrics_.emplace(context_.metrics->registry());
  WEFT_RETURN_IF_ERROR(MakeThePlane());
  if (plane_->synchronous() == asynchronous_) {
    return InternalError("the coordinator takes the strategy for " +
                         std::string(asynchronous_ ? "asynchronous" : "synchronous") + ", which it is not");
  }
  if (const ExchangeStatistics exchange = plane_->Statistics(); !exchange.mechanism.empty()) {
    LogInfo("registers", {{"mechanism", exchange.mechanism}, {"reason", exchange.mechanism_reason}});
  }
  if (first_iteration_ > 1) WEFT_RETURN_IF_ERROR(plane_->RestoreState(first_iteration_ - 1, plane_state_));
  if (context_.is_writer()) {
    writer_.emplace(context_, plan, *context_.evaluation_model);
    writer_->Start();
  } else if (sends_model()) {
    outbox_.emplace(context_);
  }

  Reporter reporter(*context_.coordinator, *context_.clock);
  WEFT_ASSIGN_OR_RETURN(const Outcome outcome, RunIterations(reporter));
  WEFT_RETURN_IF_ERROR(reporter.Flush());
  if (outcome == Outcome::kStopped) return OkStatus();

  v1::AgentMessage message;
  message.mutable_finished()->set_iterations(reporter.last_iteration());
  return context_.coordinator->Send(std::move(message));
}

Status Worker::MakeThePlane() {
  WEFT_ASSIGN_OR_RETURN(
      plane_,
      MakePlane(
          context_, plan_, [this](FloatRange range, std::int64_t iteration) { TakeLocalStep(range, iteration); },
          learning_rate_, [this](std::int64_t iteration) { optimizer_->Reset(iteration); }));
  return OkStatus();
}

Result<Worker::Outcome> Worker::RunIterations(Reporter& reporter) {
  const std::int64_t total = TotalIterations(context_);
  const std::int64_t per_epoch = loader_->iterations_per_epoch();
  const bool has_target = context_.job.training.target_accuracy.has_value();
  observer_.emplace(*plane_, *context_.clock);

  std::int64_t iteration = first_iteration_ - 1;  // the last one that has ended
  while (iteration < total) {
    ++iteration;
    WEFT_RETURN_IF_ERROR(RunIteration(iteration, *observer_, reporter));
    if (iteration % per_epoch == 0) {
      WEFT_ASSIGN_OR_RETURN(const bool stop, EndEpoch(iteration, reporter));
      if (stop) return Outcome::kStopped;
      if (has_target && !asynchronous_) {
        WEFT_ASSIGN_OR_RETURN(const bool reached, context_.gate.WaitForVerdict(iteration, kUntilClosed));
        if (reached) break;
      }
    }
    if (asynchronous_ && context_.gate.stop_decided()) break;
    WEFT_ASSIGN_OR_RETURN(const PauseAction action, context_.gate.WaitAtEnd(iteration, context_.peer_deadline()));
    WEFT_ASSIGN_OR_RETURN(const bool stop, CarryOutPause(action, iteration, reporter));
    if (stop) return Outcome::kStopped;
    if (iteration < total) WEFT_RETURN_IF_ERROR(ChangePlanIfDue(iteration));
  }
  if (asynchronous_) {
    WEFT_ASSIGN_OR_RETURN(const bool stop, WaitForTheOthers(iteration, reporter));
    if (stop) return Outcome::kStopped;
  }
  WEFT_RETURN_IF_ERROR(plane_->Finish());
  WEFT_RETURN_IF_ERROR(ReportExchange(reporter));
  plane_.reset();
  if (sends_model()) {
    StateMessage last = TakeModel(iteration, /*final=*/true, model());
    WEFT_RETURN_IF_ERROR(SendModel(last, kUntilClosed));
  }
  return Outcome::kComplete;
}

void Worker::TakeLocalStep(FloatRange range, std::int64_t iteration) {
  const TimePoint start = context_.clock->Now();
  optimizer_->Step(range, iteration);
  local_steps_time_ += context_.clock->Now() - start;
}

Status Worker::RunIteration(std::int64_t iteration, PlaneObserver& observer, Reporter& reporter) {
  loader_->Load(iteration, samples_);
  local_steps_time_ = {};
  WEFT_RETURN_IF_ERROR(observer.BeginIteration(iteration, samples_.size));
  WEFT_ASSIGN_OR_RETURN(const BatchResult result, model().TrainStep(ViewOf(samples_), observer));
  WEFT_ASSIGN_OR_RETURN(const IterationRecord record, observer.EndIteration());
  const double staleness = StalenessIterations(record);
  metrics_->Record(record, result, staleness);
  WEFT_RETURN_IF_ERROR(reporter.Add(record, result,
                                    {.epoch = loader_->epoch(iteration) + 1,
                                     .forward_end = observer.forward_end(),
                                     .samples = samples_.size,
                                     .staleness_iterations = staleness,
                                     .communication = observer.in_plane() - local_steps_time_,
                                     .with_servers = with_servers()}));
  return ReportModel(iteration, reporter);
}

Status Worker::ReportModel(std::int64_t iteration, Reporter& reporter) {
  if (sketch_period_ > 0 && iteration % sketch_period_ == 0 && !plane_->replicated()) {
    WEFT_RETURN_IF_ERROR(reporter.AddSketch(iteration, model().weights(), context_.job.training.seed));
  }
  return ReportExchangeIfDue(reporter);
}

Status Worker::ReportExchangeIfDue(Reporter& reporter) {
  const TimePoint now = context_.clock->Now();
  if (now < next_exchange_) return OkStatus();
  next_exchange_ = now + kExchangeInterval;
  return ReportExchange(reporter);
}

Status Worker::ReportExchange(Reporter& reporter) {
  if (with_servers() || plan_.workers == 1) return OkStatus();
  const ExchangeStatistics statistics = plane_->Statistics();
  exchange_metrics_->Record(statistics);
  return reporter.AddExchange(statistics);
}

// How many iterations ago the centres that this one pulled were synchronized before: the oldest. A first round's centre
// is the initial one.
double Worker::StalenessIterations(const IterationRecord& record) const {
  if (plan_.strategy != StrategyType::kInterleavedPS) return 0;
  std::int64_t oldest = 0;
  for (const TransferRecord& transfer : record.transfers) {
    oldest = std::max(oldest, transfer.round == 0 ? record.iteration : std::int64_t{plan_.period});
  }
  return static_cast<double>(oldest);
}

Result<bool> Worker::EndEpoch(std::int64_t iteration, Reporter& reporter) {
  // Where the workers are all alike, the iteration's step may still wait for the sum of the gradients. Without servers
  // all of them wait together.
  const bool alike = ModelPlaceOf(plan_) == ModelPlace::kWorker0;
  if (alike && (sends_model() || !with_servers())) WEFT_RETURN_IF_ERROR(plane_->Drain());
  if (!sends_model()) return false;
  StateMessage snapshot = TakeModel(iteration, /*final=*/false, model());
  bool told = false;
  while (true) {
    const Status sent = SendModel(snapshot, asynchronous_ ? context_.clock->Now() + kPauseLookout : kUntilClosed);
    if (sent.ok()) return false;
    if (!asynchronous_ || sent.code() != StatusCode::kDeadlineExceeded) return sent;
    if (!std::exchange(told, true)) {
      LogInfo("waiting for the slowest worker: its epoch is not evaluated yet",
              {{"iteration", iteration}, {"epochs_ahead", static_cast<std::int64_t>(kMostWaitingModels)}});
    }
    // There is room once a worker behind has got here. Should that one pause, or have stopped, it waits for this one.
    if (context_.gate.stop_decided()) return false;
    WEFT_RETURN_IF_ERROR(ReportExchangeIfDue(reporter));  // silence would be taken for death
    WEFT_ASSIGN_OR_RETURN(const PauseAction action, context_.gate.WaitAtEnd(iteration, context_.peer_deadline()));
    WEFT_ASSIGN_OR_RETURN(const bool stop, CarryOutPause(action, iteration, reporter));
    if (stop) return true;
  }
}

Status Worker::SendModel(StateMessage& snapshot, TimePoint deadline) {
  return writer_.has_value() ? writer_->AddModel(snapshot, deadline) : outbox_->Add(snapshot, deadline);
}

Result<bool> Worker::CarryOutPause(PauseAction action, std::int64_t iteration, Reporter& reporter) {
  if (action == PauseAction::kGoOn) return false;
  // A resume goes on behind the checkpoint, so what was told up to it must not die with this rank.
  WEFT_RETURN_IF_ERROR(reporter.Flush());
  if (action == PauseAction::kReplan) {
    WEFT_ASSIGN_OR_RETURN(const Plan plan, context_.plans.Pop(context_.peer_deadline()));
    WEFT_RETURN_IF_ERROR(ChangePlan(plan, iteration));
    v1::AgentMessage message;
    message.mutable_checkpoint()->set_iteration(iteration);
    WEFT_RETURN_IF_ERROR(context_.coordinator->Send(std::move(message)));
    return false;
  }
  WEFT_RETURN_IF_ERROR(SaveState(iteration));
  return action == PauseAction::kCheckpointAndStop;
}

Status Worker::ChangePlanIfDue(std::int64_t iteration) {
  if (next_later_plan_ == context_.later_plans.size()) return OkStatus();
  const Plan& plan = context_.later_plans[next_later_plan_];
  if (plan.from_iteration != iteration + 1) return OkStatus();
  ++next_later_plan_;
  return ChangePlan(plan, iteration);
}

Status Worker::ChangePlan(const Plan& plan, std::int64_t iteration) {
  WEFT_RETURN_IF_ERROR(plane_->Drain());
  WEFT_RETURN_IF_ERROR(plane_->Leave());
  const std::vector<PlaneTensor> state = plane_->SaveState();
  plane_.reset();
  plan_ = plan;
  WEFT_RETURN_IF_ERROR(MakeThePlane());
  WEFT_RETURN_IF_ERROR(plane_->RestoreState(iteration, state));
  observer_->SetPlane(*plane_);
  metrics_.emplace(context_.metrics->registry(), static_cast<int>(plan.groups.size()), with_servers());
  return OkStatus();
}

Status Worker::SaveState(std::int64_t iteration) {
  WEFT_RETURN_IF_ERROR(plane_->Drain());
  const std::int64_t committed = asynchronous_ ? kOwnIteration : iteration;
  v1::AgentMessage message;
  message.mutable_checkpoint()->set_iteration(committed);
  // Where all workers hold the same bits the writer waits for worker 0's alone.
  const bool needed = !plane_->replicated() || context_.rank == 0;
  StateMessage state;
  if (needed) state = TakeState(iteration, model(), *optimizer_, *plane_);
  if (context_.is_writer()) {
    const TimePoint start = context_.clock->Now();
    WEFT_ASSIGN_OR_RETURN(const std::string path, SaveRun(context_, plan_, committed, {.worker = &state}));
    message.mutable_checkpoint()->set_path(path);
    message.mutable_checkpoint()->set_seconds(ToSeconds(context_.clock->Now() - start));
    return context_.coordinator->Send(std::move(message));
  }
  if (needed) {
    WEFT_RETURN_IF_ERROR(SendState(*context_.transport, context_.writer_rank(), StatePurpose::kCheckpoint, state,
                                   context_.state_deadline()));
  }
  // The writer lets the workers go when it has everybody's state: no round of a later iteration mixes in.
  WEFT_RETURN_IF_ERROR(
      ReceiveState(*context_.transport, context_.writer_rank(), StatePurpose::kRelease, context_.state_deadline())
          .status());
  return context_.coordinator->Send(std::move(message));
}

Result<bool> Worker::WaitForTheOthers(std::int64_t iteration, Reporter& reporter) {
  WEFT_RETURN_IF_ERROR(reporter.Flush());
  v1::AgentMessage message;
  message.mutable_end_reached()->set_iteration(iteration);
  WEFT_RETURN_IF_ERROR(context_.coordinator->Send(std::move(message)));
  while (true) {
    WEFT_ASSIGN_OR_RETURN(const PauseAction action, context_.gate.WaitToFinish());
    if (action == PauseAction::kGoOn) return false;
    WEFT_ASSIGN_OR_RETURN(const bool stop, CarryOutPause(action, iteration, reporter));
    if (stop) return true;
  }
}

}  // namespace

std::unique_ptr<Role> MakeWorker(RankContext& context) { return std::make_unique<Worker>(context); }

}  // namespace weft
