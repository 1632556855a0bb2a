#include "agent/train/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "agent/train/centre.h"
#include "agent/train/mean_model.h"
#include "common/check.h"
#include "common/math/finite.h"
#include "common/plan/json.h"
#include "common/rundir/checkpoint.h"

namespace weft {
namespace {

constexpr std::string_view kCentre = "centre";

// Worker k's tensors are "worker<k>.weights", "worker<k>.momentum", "worker<k>.plane.…".
std::string WorkerPrefix(int worker) { return "worker" + std::to_string(worker) + "."; }

// Where all workers hold the same bits, worker 0's state stands for all.
int WorkersInCheckpoint(const Plan& plan) { return ModelPlaceOf(plan) == ModelPlace::kWorker0 ? 1 : plan.workers; }

std::vector<TensorView> ViewsOf(const std::vector<StateTensor>& tensors) {
  std::vector<TensorView> views;
  for (const StateTensor& tensor : tensors) {
    views.push_back({tensor.name, {static_cast<std::int64_t>(tensor.values.size())}, tensor.values});
  }
  return views;
}

struct Gathered {
  std::vector<StateTensor> tensors;
  std::vector<std::int64_t> iterations;  // by worker
};

Result<Gathered> Gather(RankContext& context, const Plan& plan, std::int64_t iteration, const OwnState& own) {
  Gathered gathered;
  if (own.centre != nullptr) {
    WEFT_ASSIGN_OR_RETURN(std::vector<float> centre,
                          AssembleCentre(context, plan, *own.centre, iteration, StatePurpose::kCheckpoint));
    gathered.tensors.push_back({std::string(kCentre), std::move(centre)});
  }
  for (int worker = 0; worker < WorkersInCheckpoint(plan); ++worker) {
    StateMessage state;
    if (worker == context.rank) {
      WEFT_CHECK(own.worker != nullptr) << "the writer's own state is missing";
      state = *own.worker;
    } else {
      WEFT_ASSIGN_OR_RETURN(
          state, ReceiveState(*context.transport, worker, StatePurpose::kCheckpoint, context.state_deadline()));
    }
    if (iteration != kOwnIteration && state.iteration != iteration) {
      return DataLossError("worker " + std::to_string(worker) + " sent its state of iteration " +
                           std::to_string(state.iteration) + ", not of " + std::to_string(iteration));
    }
    gathered.iterations.push_back(state.iteration);
    for (StateTensor& tensor : state.tensors) {
      gathered.tensors.push_back({WorkerPrefix(worker) + tensor.name, std::move(tensor.values)});
    }
  }
  return gathered;
}

// The centre; without one, at least one worker's weights. A checkpoint of anything else would only take an older one's
// place.
bool HasFiniteModel(const std::vector<StateTensor>& tensors) {
  const auto centre = std::ranges::find(tensors, kCentre, &StateTensor::name);
  if (centre != tensors.end()) return AllFinite(centre->values);
  return std::ranges::any_of(
      tensors, [](const StateTensor& tensor) { return tensor.name.ends_with(".weights") && AllFinite(tensor.values); });
}

// `path` is that of its JSON: <folder>/step-<iteration>.json.
Result<Checkpoint> Open(const std::filesystem::path& path) {
  const std::string stem = path.stem().string();
  const std::size_t dash = stem.find('-');
  std::int64_t iteration = 0;
  const char* end = stem.data() + stem.size();
  if (dash == std::string::npos ||
      std::from_chars(stem.data() + dash + 1, end, iteration) != std::from_chars_result{end, std::errc{}}) {
    return InvalidArgumentError(path.string() + ": not a checkpoint's name");
  }
  return OpenCheckpoint(path.parent_path().string(), iteration);
}

Result<StateTensor> ReadTensor(const Checkpoint& checkpoint, const TensorInfo& info, std::string name) {
  StateTensor tensor{.name = std::move(name), .values = std::vector<float>(static_cast<std::size_t>(info.count))};
  WEFT_RETURN_IF_ERROR(checkpoint.tensors.Read(info.name, tensor.values));
  return tensor;
}

// The centre; where the checkpoint has none, because the model is at the workers, the mean of theirs.
Result<std::vector<float>> ReadCentre(const RankContext& context, const Checkpoint& checkpoint) {
  std::vector<const TensorInfo*> found;
  if (const TensorInfo* info = checkpoint.tensors.Find(std::string(kCentre)); info != nullptr) {
    found.push_back(info);
  } else {
    for (int worker = 0; worker < checkpoint.state.workers; ++worker) {
      info = checkpoint.tensors.Find(WorkerPrefix(worker) + "weights");
      if (info != nullptr) found.push_back(info);
    }
  }
  if (found.empty()) return InvalidArgumentError(checkpoint.path + ": neither a centre nor weights in it");
  std::vector<std::vector<float>> models;
  for (const TensorInfo* info : found) {
    if (info->count != context.parameter_count()) {
      return InvalidArgumentError(checkpoint.path + ": of a model with " + std::to_string(info->count) +
                                  " weights, this job's has " + std::to_string(context.parameter_count()));
    }
    WEFT_ASSIGN_OR_RETURN(StateTensor tensor, ReadTensor(checkpoint, *info, ""));
    models.push_back(std::move(tensor.values));
  }
  if (models.size() == 1) return std::move(models[0]);
  return MeanOf(models).weights;
}

// What worker `worker` starts from: its own state, or, with another membership, the centre alone.
Result<StateMessage> StateOf(int worker, bool same_membership, const Checkpoint& checkpoint,
                             const std::vector<float>& centre) {
  StateMessage message{.iteration = checkpoint.state.iteration, .final = false, .tensors = {}};
  if (!same_membership) {
    message.tensors.push_back({"weights", centre});
    return message;
  }
  const std::vector<std::int64_t>& iterations = checkpoint.state.worker_iterations;
  if (!iterations.empty()) message.iteration = iterations[static_cast<std::size_t>(worker)];
  const bool has_own = checkpoint.tensors.Find(WorkerPrefix(worker) + "weights") != nullptr;
  const std::string prefix = WorkerPrefix(has_own ? worker : 0);
  for (const TensorInfo& info : checkpoint.tensors.tensors()) {
    if (!info.name.starts_with(prefix)) continue;
    WEFT_ASSIGN_OR_RETURN(StateTensor tensor, ReadTensor(checkpoint, info, info.name.substr(prefix.size())));
    message.tensors.push_back(std::move(tensor));
  }
  return message;
}

}  // namespace

Result<std::string> SaveRun(RankContext& context, const Plan& plan, std::int64_t iteration, const OwnState& own) {
  WEFT_ASSIGN_OR_RETURN(const Gathered gathered, Gather(context, plan, iteration, own));
  if (!HasFiniteModel(gathered.tensors)) {
    return TellDiverged(context, *std::ranges::max_element(gathered.iterations));
  }
  for (int worker = 0; worker < context.workers; ++worker) {
    if (worker == context.rank) continue;
    WEFT_RETURN_IF_ERROR(SendState(*context.transport, worker, StatePurpose::kRelease,
                                   {.iteration = iteration, .final = false, .tensors = {}}, context.peer_deadline()));
  }
  const std::string folder = context.run_directory + "/checkpoints";
  CheckpointState state{.iteration = *std::ranges::min_element(gathered.iterations),
                        .worker_iterations = {},
                        .epoch = 0,
                        .seed = context.job.training.seed,
                        .membership_generation = static_cast<std::int64_t>(context.generation),
                        .workers = context.workers,
                        .servers = context.servers,
                        .job_sha256 = context.job_sha256,
                        .plan = PlanToJson(plan)};
  if (iteration == kOwnIteration) state.worker_iterations = gathered.iterations;
  state.epoch = state.iteration / IterationsPerEpoch(context);
  WEFT_RETURN_IF_ERROR(WriteCheckpoint(folder, state, ViewsOf(gathered.tensors)));
  WEFT_RETURN_IF_ERROR(PruneCheckpoints(folder, state.iteration, context.job.checkpoint.keep));
  return folder + "/step-" + std::to_string(state.iteration) + ".json";
}

Result<RestoredRun> RestoreRun(RankContext& context) {
  WEFT_ASSIGN_OR_RETURN(const Checkpoint checkpoint, Open(context.checkpoint));
  RestoredRun restored{.iteration = checkpoint.state.iteration, .centre = {}, .worker = {}, .note = {}};
  WEFT_ASSIGN_OR_RETURN(restored.centre, ReadCentre(context, checkpoint));

  const bool same_membership = checkpoint.state.workers == context.workers;
  if (!same_membership) {
    restored.note = "the checkpoint is of " + std::to_string(checkpoint.state.workers) + " workers, now there are " +
                    std::to_string(context.workers) + ": all start from its centre, with fresh optimizer state";
  }
  if (checkpoint.state.job_sha256 != context.job_sha256) {
    restored.note += std::string(restored.note.empty() ? "" : "; ") + "the job has changed since the checkpoint";
  }
  for (int worker = 0; worker < context.workers; ++worker) {
    WEFT_ASSIGN_OR_RETURN(StateMessage state, StateOf(worker, same_membership, checkpoint, restored.centre));
    if (worker == context.rank) {
      restored.worker = std::move(state);
      continue;
    }
    WEFT_RETURN_IF_ERROR(
        SendState(*context.transport, worker, StatePurpose::kRestore, state, context.state_deadline()));
  }
  const StateMessage centre{
      .iteration = restored.iteration, .final = false, .tensors = {{std::string(kCentre), restored.centre}}};
  for (int server = 1; server < context.servers; ++server) {
    WEFT_RETURN_IF_ERROR(SendState(*context.transport, context.server_rank(server), StatePurpose::kRestore, centre,
                                   context.state_deadline()));
  }
  return restored;
}

}  // namespace weft
