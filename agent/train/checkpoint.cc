#include "agent/train/checkpoint.h"

#include <charconv>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "agent/train/centre.h"
#include "agent/train/state_exchange.h"
#include "common/plan/json.h"
#include "common/rundir/checkpoint.h"

namespace weft {
namespace {

constexpr std::string_view kCentre = "centre";

// Worker k's tensors are "worker<k>.weights", "worker<k>.momentum", "worker<k>.plane.…".
std::string WorkerPrefix(int worker) { return "worker" + std::to_string(worker) + "."; }

// Where all workers hold the same bits, worker 0's state stands for all.
int WorkersInCheckpoint(const Plan& plan) { return ModelIsAtWorkers(plan) ? 1 : plan.workers; }

std::vector<TensorView> ViewsOf(const std::vector<StateTensor>& tensors) {
  std::vector<TensorView> views;
  for (const StateTensor& tensor : tensors) {
    views.push_back({tensor.name, {static_cast<std::int64_t>(tensor.values.size())}, tensor.values});
  }
  return views;
}

Result<std::vector<StateTensor>> Gather(RankContext& context, const Plan& plan, std::int64_t iteration,
                                        const CentreSnapshot* own) {
  std::vector<StateTensor> tensors;
  if (own != nullptr) {
    WEFT_ASSIGN_OR_RETURN(std::vector<float> centre,
                          AssembleCentre(context, plan, *own, iteration, StatePurpose::kCheckpoint));
    tensors.push_back({std::string(kCentre), std::move(centre)});
  }
  for (int worker = 0; worker < WorkersInCheckpoint(plan); ++worker) {
    WEFT_ASSIGN_OR_RETURN(StateMessage state, ReceiveState(*context.transport, worker, StatePurpose::kCheckpoint,
                                                           context.state_deadline()));
    if (state.iteration != iteration) {
      return DataLossError("worker " + std::to_string(worker) + " sent its state of iteration " +
                           std::to_string(state.iteration) + ", not of " + std::to_string(iteration));
    }
    for (StateTensor& tensor : state.tensors) {
      tensors.push_back({WorkerPrefix(worker) + tensor.name, std::move(tensor.values)});
    }
  }
  return tensors;
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

// The centre; where the checkpoint has none, because the model is at the workers, worker 0's weights.
Result<std::vector<float>> ReadCentre(const RankContext& context, const Checkpoint& checkpoint) {
  const TensorInfo* info = checkpoint.tensors.Find(std::string(kCentre));
  if (info == nullptr) info = checkpoint.tensors.Find(WorkerPrefix(0) + "weights");
  if (info == nullptr) return InvalidArgumentError(checkpoint.path + ": neither a centre nor weights in it");
  if (info->count != context.parameter_count()) {
    return InvalidArgumentError(checkpoint.path + ": of a model with " + std::to_string(info->count) +
                                " weights, this job's has " + std::to_string(context.parameter_count()));
  }
  WEFT_ASSIGN_OR_RETURN(StateTensor tensor, ReadTensor(checkpoint, *info, ""));
  return std::move(tensor.values);
}

// What worker `worker` starts from: its own state, or, with another membership, the centre alone.
Result<StateMessage> StateOf(int worker, bool same_membership, const Checkpoint& checkpoint,
                             const std::vector<float>& centre) {
  StateMessage message{.iteration = checkpoint.state.iteration, .final = false, .tensors = {}};
  if (!same_membership) {
    message.tensors.push_back({"weights", centre});
    return message;
  }
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

Result<std::string> SaveRun(RankContext& context, const Plan& plan, std::int64_t iteration, const CentreSnapshot* own) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<StateTensor> tensors, Gather(context, plan, iteration, own));
  for (int worker = 0; worker < context.workers; ++worker) {
    WEFT_RETURN_IF_ERROR(SendState(*context.transport, worker, StatePurpose::kRelease,
                                   {.iteration = iteration, .final = false, .tensors = {}}, context.peer_deadline()));
  }
  const std::string folder = context.run_directory + "/checkpoints";
  const CheckpointState state{.iteration = iteration,
                              .epoch = iteration / IterationsPerEpoch(context),
                              .seed = context.job.training.seed,
                              .membership_generation = static_cast<std::int64_t>(context.generation),
                              .workers = context.workers,
                              .servers = context.servers,
                              .job_sha256 = context.job_sha256,
                              .plan = PlanToJson(plan)};
  WEFT_RETURN_IF_ERROR(WriteCheckpoint(folder, state, ViewsOf(tensors)));
  WEFT_RETURN_IF_ERROR(PruneCheckpoints(folder, iteration, context.job.checkpoint.keep));
  return folder + "/step-" + std::to_string(iteration) + ".json";
}

Result<RestoredRun> RestoreRun(RankContext& context) {
  WEFT_ASSIGN_OR_RETURN(const Checkpoint checkpoint, Open(context.checkpoint));
  RestoredRun restored{.iteration = checkpoint.state.iteration, .centre = {}, .note = {}};
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
    WEFT_ASSIGN_OR_RETURN(const StateMessage state, StateOf(worker, same_membership, checkpoint, restored.centre));
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
