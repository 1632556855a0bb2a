#include "agent/train/writer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>

#include "agent/train/centre.h"
#include "agent/train/mean_model.h"
#include "agent/train/model_file.h"
#include "common/math/finite.h"

namespace weft {
namespace {

// Of the time between two epochs' ends, what the evaluation of the single workers' models may take.
constexpr double kMostForSingleModels = 0.1;

// Between two words to the coordinator while a model is evaluated.
constexpr Duration kWordInterval = std::chrono::seconds(1);

// Where in the run a snapshot is: the last one of each worker behind all epochs.
std::int64_t PlaceOf(const StateMessage& model) {
  return model.final ? std::numeric_limits<std::int64_t>::max() : model.iteration;
}

Result<std::vector<float>> WeightsIn(const RankContext& context, int worker, StateMessage message) {
  if (message.tensors.size() != 1 ||
      message.tensors[0].values.size() != static_cast<std::size_t>(context.parameter_count())) {
    return DataLossError("worker " + std::to_string(worker) + " sent a model to evaluate that is not of this job");
  }
  return std::move(message.tensors[0].values);
}

}  // namespace

RunWriter::RunWriter(RankContext& context, const Plan& plan, Model& model)
    : context_(context),
      plan_(plan),
      model_(model),
      metrics_(context.metrics->registry()),
      iterations_per_epoch_(IterationsPerEpoch(context)) {}

RunWriter::~RunWriter() {
  const Status ended = CancelledError("the rank ends");
  centres_.Close(ended);
  models_.Close(ended);
  context_.transport->Abort(ended);
  if (thread_.joinable()) thread_.join();
}

void RunWriter::Start() {
  last_mean_ = context_.clock->Now();
  thread_ = std::thread([this] { EvaluateAll(); });
}

void RunWriter::EvaluateAll() {
  while (true) {
    Result<bool> last = false;
    switch (ModelPlaceOf(plan_)) {
      case ModelPlace::kCentre:
        last = EvaluateNextCentre();
        break;
      case ModelPlace::kWorker0:
        last = EvaluateNextModel();
        break;
      case ModelPlace::kWorkers:
        last = EvaluateNextMean();
        break;
    }
    if (!last.ok()) context_.inbox.PushError(last.status());
    if (!last.ok() || *last) return;
  }
}

Result<bool> RunWriter::EvaluateNextCentre() {
  WEFT_ASSIGN_OR_RETURN(const Centre next, centres_.Pop(kUntilClosed));
  const std::int64_t iteration = next.own.snapshot.iteration;
  WEFT_ASSIGN_OR_RETURN(const std::vector<float> weights, AssembleCentre(context_, *next.own.plan, next.own.snapshot,
                                                                         iteration, StatePurpose::kEvaluation));
  WEFT_RETURN_IF_ERROR(EvaluateAndSend(weights, iteration, next.final));
  return next.final;
}

Result<bool> RunWriter::EvaluateNextModel() {
  WEFT_ASSIGN_OR_RETURN(StateMessage next, NextFrom(0));
  const std::int64_t iteration = next.iteration;
  const bool final = next.final;
  WEFT_ASSIGN_OR_RETURN(const std::vector<float> weights, WeightsIn(context_, 0, std::move(next)));
  WEFT_RETURN_IF_ERROR(EvaluateAndSend(weights, iteration, final));
  return final;
}

Result<bool> RunWriter::EvaluateNextMean() {
  WEFT_ASSIGN_OR_RETURN(std::vector<StateMessage> messages, NextModels());
  const bool final = messages[0].final;
  std::int64_t iteration = 0;
  std::vector<std::vector<float>> models;
  for (int worker = 0; worker < plan_.workers; ++worker) {
    StateMessage& message = messages[static_cast<std::size_t>(worker)];
    iteration = std::max(iteration, message.iteration);
    WEFT_ASSIGN_OR_RETURN(std::vector<float> weights, WeightsIn(context_, worker, std::move(message)));
    models.push_back(std::move(weights));
  }
  const MeanModel mean = MeanOf(models);
  v1::AgentMessage message;
  v1::EvaluationResult& result = *message.mutable_evaluation();
  for (const int worker : mean.not_finite) result.add_not_finite(static_cast<std::uint32_t>(worker));
  if (std::isfinite(mean.variance)) result.set_model_variance(mean.variance);
  WEFT_RETURN_IF_ERROR(Evaluate(mean.weights, iteration, final, result));
  WEFT_ASSIGN_OR_RETURN(const std::optional<double> worst, WorstAccuracy(models, final));
  if (worst.has_value()) result.set_worst_accuracy(*worst);
  last_mean_ = context_.clock->Now();
  WEFT_RETURN_IF_ERROR(context_.coordinator->Send(std::move(message)));
  return final;
}

Result<StateMessage> RunWriter::NextFrom(int worker) {
  if (worker == context_.rank) return models_.Pop(kUntilClosed);
  return ReceiveState(*context_.transport, worker, StatePurpose::kEvaluation, kUntilAborted);
}

Result<std::vector<StateMessage>> RunWriter::NextModels() {
  std::vector<StateMessage> models;
  for (int worker = 0; worker < plan_.workers; ++worker) {
    WEFT_ASSIGN_OR_RETURN(StateMessage model, NextFrom(worker));
    models.push_back(std::move(model));
  }
  // Asynchronous workers may go on from a checkpoint in different epochs, or be stopped in different ones.
  while (true) {
    const auto before = [](const StateMessage& a, const StateMessage& b) { return PlaceOf(a) < PlaceOf(b); };
    const auto [behind, ahead] = std::ranges::minmax_element(models, before);
    if (PlaceOf(*behind) == PlaceOf(*ahead)) return models;
    WEFT_ASSIGN_OR_RETURN(*behind, NextFrom(static_cast<int>(behind - models.begin())));
  }
}

Result<std::optional<double>> RunWriter::WorstAccuracy(const std::vector<std::vector<float>>& models, bool final) {
  const double elapsed = ToSeconds(context_.clock->Now() - last_mean_);
  const double needed = evaluation_seconds_ * static_cast<double>(models.size());
  if (!final && needed > kMostForSingleModels * elapsed) return std::optional<double>();
  double worst = 1;
  for (const std::vector<float>& weights : models) {
    std::ranges::copy(weights, model_.weights().begin());
    WEFT_ASSIGN_OR_RETURN(const Evaluation evaluation, EvaluateModel());
    worst = std::min(worst, evaluation.accuracy);
  }
  return std::optional<double>(worst);
}

// The model as it is, with a word to the coordinator now and then.
Result<Evaluation> RunWriter::EvaluateModel() {
  return EvaluateOnTestSplit(model_, *context_.dataset, [this](std::int64_t samples, std::int64_t of) {
    const TimePoint now = context_.clock->Now();
    if (now < next_word_) return OkStatus();
    next_word_ = now + kWordInterval;
    v1::AgentMessage message;
    message.mutable_evaluation_progress()->set_samples(samples);
    message.mutable_evaluation_progress()->set_of(of);
    return context_.coordinator->Send(std::move(message));
  });
}

Status RunWriter::Evaluate(std::span<const float> weights, std::int64_t iteration, bool final,
                           v1::EvaluationResult& result) {
  if (!AllFinite(weights)) return TellDiverged(context_, iteration);
  std::ranges::copy(weights, model_.weights().begin());
  const std::string path = context_.run_directory + "/model.safetensors";
  if (final) {
    WEFT_RETURN_IF_ERROR(WriteModelFile(path, model_));
    result.set_model_path(path);
  }
  const TimePoint start = context_.clock->Now();
  WEFT_ASSIGN_OR_RETURN(const Evaluation evaluation, EvaluateModel());
  evaluation_seconds_ = ToSeconds(context_.clock->Now() - start);
  // Weights so large that what they compute is not finite are no model either.
  if (!std::isfinite(evaluation.loss)) {
    if (final) std::filesystem::remove(path);
    return TellDiverged(context_, iteration);
  }
  result.set_iteration(iteration);
  result.set_epoch(iteration / iterations_per_epoch_);
  result.set_loss(evaluation.loss);
  result.set_accuracy(evaluation.accuracy);
  result.set_final(final);
  metrics_.RecordAccuracy(evaluation.accuracy);
  return OkStatus();
}

Status RunWriter::EvaluateAndSend(std::span<const float> weights, std::int64_t iteration, bool final) {
  v1::AgentMessage message;
  WEFT_RETURN_IF_ERROR(Evaluate(weights, iteration, final, *message.mutable_evaluation()));
  return context_.coordinator->Send(std::move(message));
}

}  // namespace weft
