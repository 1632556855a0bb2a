#include "agent/train/rank_context.h"

#include <fstream>
#include <iterator>
#include <span>
#include <utility>

#include "agent/data/load.h"
#include "agent/data/loader.h"
#include "agent/model/make_model.h"
#include "agent/train/model_file.h"
#include "common/job/parse.h"
#include "common/plan/json.h"
#include "common/rundir/digest.h"

namespace weft {
namespace {

Result<Timeline> ReadTimeline(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFoundError("model.replay.timeline: " + path + " cannot be read");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Result<Timeline> timeline = ParseTimeline(text);
  if (!timeline.ok()) return timeline.status().WithContext(path);
  return timeline;
}

void Slow(double factor, Timeline& timeline) {
  for (LayerTiming& layer : timeline.layers) {
    for (double* us : {&layer.forward_us, &layer.backward_us, &layer.backward_start_us}) *us *= factor;
  }
  timeline.end_us *= factor;
  timeline.optimizer_us *= factor;
}

}  // namespace

Status PrepareContext(const v1::Prepare& prepare, RankContext& context) {
  ParsedJob parsed = ParseJob(prepare.job_yaml());
  WEFT_RETURN_IF_ERROR(ToStatus(parsed.errors));
  context.job = std::move(parsed.spec);
  context.job_sha256 = Sha256Of(std::as_bytes(std::span(prepare.job_yaml())));
  context.run_directory = prepare.run_directory();
  context.checkpoint = prepare.checkpoint();
  const JobSpec& job = context.job;
  WEFT_ASSIGN_OR_RETURN(context.dataset, LoadDataset(job.data, job.model.transformer_context));
  ReplayInput replay;
  if (job.model.name == ModelType::kReplay) {
    WEFT_ASSIGN_OR_RETURN(replay.timeline, ReadTimeline(job.model.replay_timeline));
    if (context.rank == 0) Slow(job.model.replay_slow_worker, replay.timeline);
    replay.clock = context.clock;
  }
  const SampleShape& shape = context.dataset->shape();
  const auto make = [&] {
    return MakeModel(job.model, {.dimensions = shape.dimensions, .classes = shape.classes, .text = shape.text}, replay);
  };
  WEFT_ASSIGN_OR_RETURN(context.model, make());
  if (context.is_worker() && context.is_writer()) {
    WEFT_ASSIGN_OR_RETURN(context.evaluation_model, make());
  }
  return InitializeWeights(context);
}

Status InitializeWeights(RankContext& context) {
  context.model->Initialize(context.job.training.seed);
  if (context.job.model.initial_weights.empty()) return OkStatus();
  return ReadModelFile(context.job.model.initial_weights, *context.model);
}

std::int64_t IterationsPerEpoch(const RankContext& context) {
  const std::int64_t samples = context.dataset->size(Split::kTrain);
  const std::int64_t global_batch = std::int64_t{context.job.training.batch_size_per_worker} * context.workers;
  return (samples + global_batch - 1) / global_batch;
}

std::int64_t TotalIterations(const RankContext& context) {
  const TrainingSpec& training = context.job.training;
  return training.iterations > 0 ? training.iterations : training.epochs * IterationsPerEpoch(context);
}

Status TellDiverged(RankContext& context, std::int64_t iteration) {
  v1::AgentMessage message;
  message.mutable_diverged()->set_iteration(iteration);
  WEFT_RETURN_IF_ERROR(context.coordinator->Send(std::move(message)));
  return CancelledError("the run has diverged");
}

ParameterServerOptions PlaneOptions(const RankContext& context, const Plan& plan) {
  const ParameterServerSpec& spec = context.job.strategy.parameter_server;
  ParameterServerOptions options;
  options.generation = context.generation;
  options.center_rate = spec.center_rate;
  options.elastic_rate = spec.elastic_rate;
  options.apply = spec.apply;
  options.admission = spec.admission;
  options.peer_timeout = context.peer_timeout;
  options.forward_time = FromMicroseconds(plan.forward_us);
  return options;
}

ModelPlace ModelPlaceOf(const Plan& plan) {
  if (plan.workers == 1) return ModelPlace::kWorker0;
  switch (plan.strategy) {
    case StrategyType::kAuto:  // no plan's
    case StrategyType::kInterleavedPS:
      return ModelPlace::kCentre;
    case StrategyType::kMergedPS:
    case StrategyType::kBulkSynchronousPS:
    case StrategyType::kAllReduce:
      return ModelPlace::kWorker0;
    case StrategyType::kSwarm:
    case StrategyType::kLocalSGD:
    case StrategyType::kDPSGD:
    case StrategyType::kADPSGD:
    case StrategyType::kSGP:
      return ModelPlace::kWorkers;
  }
  return ModelPlace::kCentre;
}

}  // namespace weft
