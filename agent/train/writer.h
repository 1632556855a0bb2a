// What the rank does that evaluates the model and writes what a run keeps: server 0, or worker 0 where there are no
// servers. Evaluation has a thread and a model of its own, so that a worker does not stop computing for it; models come
// to it as snapshots. (Checkpoints, which are written while all workers stand still, are in checkpoint.h.)
//
// The model is in one of three places:
//   the servers' centre  InterleavedPS; server 0 puts the parts together
//   worker 0             all workers hold the same bits, or there is one
//   the workers          each holds its own: their mean is the model
// In the last case nobody waits for anybody: each worker's snapshots of its epochs' ends queue up, at most
// kMostWaitingModels at the worker, and those of one epoch are evaluated together when the last has come. A worker
// whose snapshots waited longer than that, since another is as many epochs behind, waits. (It still pauses when asked
// to.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "agent/dataplane/parameter_server.h"
#include "agent/train/agent_metrics.h"
#include "agent/train/evaluator.h"
#include "agent/train/mailbox.h"
#include "agent/train/rank_context.h"
#include "agent/train/serving.h"
#include "agent/train/state_exchange.h"
#include "common/plan/plan.h"
#include "common/status.h"

namespace weft {

inline constexpr std::size_t kMostWaitingModels = 4;

// Used by the rank's main thread, the Add functions by any.
class RunWriter {
 public:
  // `model` is for evaluation only. All outlive the writer.
  RunWriter(RankContext& context, const Plan& plan, Model& model);
  // Aborts the transport: after a stop the evaluation still waits for peers that will not send any more.
  ~RunWriter();

  // Starts to evaluate, until the final model has been saved. Errors go to the context's inbox.
  void Start();

  // Server 0's part of the centre; the evaluation takes the other servers'.
  void AddCentre(PlannedCentre centre, bool final) { centres_.Push({std::move(centre), final}); }
  // Worker 0's own model, where it is the writer: what other workers send with StatePurpose::kEvaluation. Takes it,
  // when fewer than kMostWaitingModels are there before `deadline`; else DEADLINE_EXCEEDED, and it stays the caller's.
  Status AddModel(StateMessage& model, TimePoint deadline) {
    return models_.PushWithin(model, kMostWaitingModels, deadline);
  }

 private:
  struct Centre {
    PlannedCentre own;
    bool final = false;
  };

  void EvaluateAll();
  // True when it was the last.
  Result<bool> EvaluateNextCentre();
  Result<bool> EvaluateNextModel();
  Result<bool> EvaluateNextMean();

  Result<StateMessage> NextFrom(int worker);
  // Each worker's model of one epoch's end, or of its own.
  Result<std::vector<StateMessage>> NextModels();
  // The lowest accuracy of a single worker's model. Takes as many evaluations as there are workers, and so is left out
  // (nullopt) at an epoch's end when it would take more than a tenth of the time since the one before.
  Result<std::optional<double>> WorstAccuracy(const std::vector<std::vector<float>>& models, bool final);

  Result<Evaluation> EvaluateModel();
  // Evaluates `weights`, saves them when they are the final ones, and adds what came out to `result`.
  Status Evaluate(std::span<const float> weights, std::int64_t iteration, bool final, v1::EvaluationResult& result);
  Status EvaluateAndSend(std::span<const float> weights, std::int64_t iteration, bool final);

  RankContext& context_;
  const Plan plan_;  // the first; all of a run have its strategy
  Model& model_;
  WriterMetrics metrics_;
  const std::int64_t iterations_per_epoch_;

  Mailbox<Centre> centres_;
  Mailbox<StateMessage> models_;

  // Of the evaluation's thread.
  double evaluation_seconds_ = 0;  // the last evaluation of one model
  TimePoint last_mean_{};
  TimePoint next_word_{};

  std::thread thread_;
};

}  // namespace weft
