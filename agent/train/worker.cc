// A worker's part of a run. The loop in RunIterations is the training; everything else prepares it, saves it or reports
// on it.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/data/loader.h"
#include "agent/dataplane/data_plane.h"
#include "agent/dataplane/parameter_server_worker.h"
#include "agent/train/agent_metrics.h"
#include "agent/train/layer_timer.h"
#include "agent/train/optimizer.h"
#include "agent/train/rank_context.h"
#include "agent/train/reporter.h"
#include "agent/train/role.h"
#include "agent/train/schedule.h"
#include "agent/train/state_exchange.h"
#include "agent/transport/probe.h"
#include "common/log.h"
#include "common/plan/json.h"

namespace weft {
namespace {

// Tensors of this prefix in a StateMessage are the plane's own.
constexpr std::string_view kPlanePrefix = "plane.";

// Workers that share a machine slow each other down, as they will in training, only while they measure at the same
// time: for longer than their starts are apart.
constexpr Duration kLeastProfile = std::chrono::seconds(1);

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

// Passes the model's layer events on to the plane.
class PlaneObserver : public LayerObserver {
 public:
  PlaneObserver(DataPlane& plane, Clock& clock) : plane_(plane), clock_(clock) {}

  void BeginIteration(std::int64_t samples) {
    samples_ = samples;
    forward_end_.reset();
  }
  // The start of backward.
  TimePoint forward_end() const { return forward_end_.value_or(TimePoint{}); }

  Status BeforeForward(int layer) override { return plane_.BeforeForward(layer); }
  Status AfterForward(int) override { return OkStatus(); }
  Status BeforeBackward(int) override {
    if (!forward_end_.has_value()) forward_end_ = clock_.Now();
    return OkStatus();
  }
  Status GradientReady(int layer) override { return plane_.GradientReady(layer, samples_); }

 private:
  DataPlane& plane_;
  Clock& clock_;
  std::int64_t samples_ = 0;
  std::optional<TimePoint> forward_end_;
};

class Worker : public Role {
 public:
  explicit Worker(RankContext& context) : context_(context) {}

  Status Prepare(v1::Ready& ready) override;
  Status MeasureProfile(const v1::MeasureProfile& request) override;
  Status MeasureLink(const v1::MeasureLink& request) override;
  Status Train(const Plan& plan) override;
  Status OnPause(const v1::CommitPause&) override { return OkStatus(); }
  void OnIdle() override {}
  PauseGate::Vote VoteOnPause(std::int64_t iteration) override { return context_.gate.Propose(iteration); }

 private:
  enum class Outcome { kComplete, kStopped };

  Result<Outcome> RunIterations(Reporter& reporter);
  Status RunIteration(std::int64_t iteration, PlaneObserver& observer, Reporter& reporter);
  double StalenessIterations(const IterationRecord& record) const;
  Status SaveState(std::int64_t iteration);
  Status SendModel(std::int64_t iteration, bool final);
  Status RestoreWeights(const StateMessage& state);

  Model& model() { return *context_.model; }

  RankContext& context_;
  std::optional<Loader> loader_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<DataPlane> plane_;
  Samples samples_;
  Plan plan_;
  std::optional<WorkerMetrics> metrics_;
  std::int64_t first_iteration_ = 1;
  std::vector<PlaneTensor> plane_state_;  // of the checkpoint, until the plane exists
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
  optimizer_ = std::make_unique<Optimizer>(
      training.optimizer, model().weights(), model().gradients(),
      [training, per_epoch, total](std::int64_t i) { return LearningRate(training, per_epoch, total, i); },
      RunningStatistics(model()));

  if (!context_.checkpoint.empty()) {
    WEFT_ASSIGN_OR_RETURN(const StateMessage state, ReceiveState(*context_.transport, context_.writer_rank(),
                                                                 StatePurpose::kRestore, context_.state_deadline()));
    WEFT_RETURN_IF_ERROR(RestoreWeights(state));
  }
  ready.set_parameter_count(context_.parameter_count());
  ready.set_iterations_per_epoch(per_epoch);
  ready.set_total_iterations(total);
  return OkStatus();
}

// The weights, and the optimizer's and the plane's state where the checkpoint has them for this worker; else they start
// afresh.
Status Worker::RestoreWeights(const StateMessage& state) {
  first_iteration_ = state.iteration + 1;
  for (const StateTensor& tensor : state.tensors) {
    if (tensor.name.starts_with(kPlanePrefix)) {
      plane_state_.push_back({.name = tensor.name.substr(kPlanePrefix.size()), .values = tensor.values});
      continue;
    }
    std::span<float> target;
    if (tensor.name == "weights") target = model().weights();
    for (const Optimizer::Slot& slot : optimizer_->state()) {
      if (slot.name == tensor.name) target = slot.values;
    }
    if (target.size() != tensor.values.size()) {
      return InvalidArgumentError("checkpoint: tensor " + tensor.name + " has " + std::to_string(tensor.values.size()) +
                                  " values, this job needs " + std::to_string(target.size()));
    }
    std::ranges::copy(tensor.values, target.begin());
  }
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

Status Worker::Train(const Plan& plan) {
  plan_ = plan;
  metrics_.emplace(context_.metrics->registry(), static_cast<int>(plan.groups.size()));
  ModelView view{.weights = model().weights(), .gradients = model().gradients(), .layers = {}};
  for (const Layer& layer : model().layers()) view.layers.push_back({layer.first, layer.count});
  WEFT_ASSIGN_OR_RETURN(plane_,
                        MakeParameterServerWorker(
                            PlaneOptions(context_, plan), plan, view,
                            [this](FloatRange range, std::int64_t iteration) { optimizer_->Step(range, iteration); },
                            *context_.transport, *context_.clock));
  if (first_iteration_ > 1) WEFT_RETURN_IF_ERROR(plane_->RestoreState(first_iteration_ - 1, plane_state_));

  Reporter reporter(*context_.coordinator, *context_.clock);
  WEFT_ASSIGN_OR_RETURN(const Outcome outcome, RunIterations(reporter));
  WEFT_RETURN_IF_ERROR(reporter.Flush());
  if (outcome == Outcome::kStopped) return OkStatus();

  v1::AgentMessage message;
  message.mutable_finished()->set_iterations(reporter.last_iteration());
  return context_.coordinator->Send(std::move(message));
}

Result<Worker::Outcome> Worker::RunIterations(Reporter& reporter) {
  const std::int64_t total = TotalIterations(context_);
  const std::int64_t per_epoch = loader_->iterations_per_epoch();
  const bool sends_model = ModelIsAtWorkers(plan_) && context_.rank == 0;
  PlaneObserver observer(*plane_, *context_.clock);

  std::int64_t iteration = first_iteration_ - 1;  // the last one that has ended
  while (iteration < total) {
    ++iteration;
    WEFT_RETURN_IF_ERROR(RunIteration(iteration, observer, reporter));
    if (iteration % per_epoch == 0) {
      if (sends_model) WEFT_RETURN_IF_ERROR(SendModel(iteration, /*final=*/false));
      if (context_.job.training.target_accuracy.has_value()) {
        WEFT_ASSIGN_OR_RETURN(const bool stop, context_.gate.WaitForVerdict(iteration, kUntilClosed));
        if (stop) break;
      }
    }
    WEFT_ASSIGN_OR_RETURN(const PauseAction action, context_.gate.WaitAtEnd(iteration, context_.peer_deadline()));
    if (action != PauseAction::kGoOn) {
      // A resume goes on behind the checkpoint, so what was told up to it must not die with this rank.
      WEFT_RETURN_IF_ERROR(reporter.Flush());
      WEFT_RETURN_IF_ERROR(SaveState(iteration));
    }
    if (action == PauseAction::kCheckpointAndStop) return Outcome::kStopped;
  }
  WEFT_RETURN_IF_ERROR(plane_->Finish());
  if (sends_model) WEFT_RETURN_IF_ERROR(SendModel(iteration, /*final=*/true));
  return Outcome::kComplete;
}

Status Worker::RunIteration(std::int64_t iteration, PlaneObserver& observer, Reporter& reporter) {
  loader_->Load(iteration, samples_);
  observer.BeginIteration(samples_.size);
  WEFT_RETURN_IF_ERROR(plane_->BeginIteration(iteration));
  WEFT_ASSIGN_OR_RETURN(const BatchResult result, model().TrainStep(ViewOf(samples_), observer));
  WEFT_ASSIGN_OR_RETURN(const IterationRecord record, plane_->EndIteration());
  const double staleness = StalenessIterations(record);
  metrics_->Record(record, result, staleness);
  return reporter.Add(record, result,
                      {.epoch = loader_->epoch(iteration) + 1,
                       .forward_end = observer.forward_end(),
                       .samples = samples_.size,
                       .staleness_iterations = staleness});
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

Status Worker::SaveState(std::int64_t iteration) {
  WEFT_RETURN_IF_ERROR(plane_->Drain());
  // Where all workers hold the same bits the writer waits for worker 0's alone.
  if (!plane_->replicated() || context_.rank == 0) {
    StateMessage state{.iteration = iteration, .final = false, .tensors = {}};
    const std::span<const float> weights = model().weights();
    state.tensors.push_back({"weights", {weights.begin(), weights.end()}});
    for (const Optimizer::Slot& slot : optimizer_->state()) {
      state.tensors.push_back({slot.name, {slot.values.begin(), slot.values.end()}});
    }
    for (PlaneTensor& tensor : plane_->SaveState()) {
      state.tensors.push_back({std::string(kPlanePrefix) + tensor.name, std::move(tensor.values)});
    }
    WEFT_RETURN_IF_ERROR(SendState(*context_.transport, context_.writer_rank(), StatePurpose::kCheckpoint, state,
                                   context_.state_deadline()));
  }
  // The writer lets the workers go when it has everybody's state: no round of a later iteration mixes in.
  WEFT_RETURN_IF_ERROR(
      ReceiveState(*context_.transport, context_.writer_rank(), StatePurpose::kRelease, context_.state_deadline())
          .status());
  v1::AgentMessage message;
  message.mutable_checkpoint()->set_iteration(iteration);
  return context_.coordinator->Send(std::move(message));
}

Status Worker::SendModel(std::int64_t iteration, bool final) {
  WEFT_RETURN_IF_ERROR(plane_->Drain());
  const std::span<const float> weights = model().weights();
  const StateMessage state{
      .iteration = iteration, .final = final, .tensors = {{"weights", {weights.begin(), weights.end()}}}};
  return SendState(*context_.transport, context_.writer_rank(), StatePurpose::kEvaluation, state,
                   context_.state_deadline());
}

}  // namespace

std::unique_ptr<Role> MakeWorker(RankContext& context) { return std::make_unique<Worker>(context); }

}  // namespace weft
