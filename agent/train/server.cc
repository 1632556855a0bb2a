// A server's part of a run. Beside the main thread, which saves checkpoints while all workers stand still, one thread
// serves and one evaluates: on server 0 the centre (or worker 0's model) after each epoch and at the end, on the others
// by sending their part of it there.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/dataplane/parameter_server.h"
#include "agent/train/agent_metrics.h"
#include "agent/train/centre.h"
#include "agent/train/checkpoint.h"
#include "agent/train/evaluator.h"
#include "agent/train/mailbox.h"
#include "agent/train/model_file.h"
#include "agent/train/rank_context.h"
#include "agent/train/role.h"
#include "agent/train/state_exchange.h"
#include "agent/transport/probe.h"

namespace weft {
namespace {

// The centre, or a part of it, on its way to be evaluated.
struct CentreToEvaluate {
  CentreSnapshot snapshot;
  bool final = false;
};

class Server : public Role {
 public:
  explicit Server(RankContext& context) : context_(context), index_(context.rank - context.workers) {}
  ~Server() override;

  Status Prepare(v1::Ready& ready) override;
  Status MeasureProfile(const v1::MeasureProfile&) override {
    return InternalError("a server has no layers to measure");
  }
  Status MeasureLink(const v1::MeasureLink& request) override;
  Status Train(const Plan& plan) override;
  Status OnPause(const v1::CommitPause& pause) override;
  void OnIdle() override;
  // Servers follow: no round of a later iteration is committed before all workers have passed the pause.
  PauseGate::Vote VoteOnPause(std::int64_t) override { return {.accepted = true, .current_iteration = 0}; }

 private:
  bool is_writer() const { return index_ == 0; }
  // Whether this server sends its part of the centre to server 0.
  bool SendsCentre() const { return !is_writer() && !ModelIsAtWorkers(plan_) && HoldsShards(plan_, index_); }

  void Serve();
  Status SendReport();
  void EvaluateAll();
  // True when it was the last.
  Result<bool> EvaluateNextCentre();
  Result<bool> EvaluateNextWorkerModel();
  Status Evaluate(std::span<const float> weights, std::int64_t iteration, bool final);

  RankContext& context_;
  const int index_;
  std::optional<ServerMetrics> metrics_;

  // Set by Prepare and Train, on the main thread, before the other threads start.
  Plan plan_;
  std::int64_t iterations_per_epoch_ = 1;
  std::int64_t first_iteration_ = 1;
  std::vector<float> centre_;                          // that training starts from
  std::unique_ptr<ParameterServer> parameter_server_;  // null with a single worker

  Mailbox<CentreToEvaluate> to_evaluate_;
  std::thread serve_thread_;
  std::thread evaluate_thread_;
};

Server::~Server() {
  const Status ended = CancelledError("the rank ends");
  to_evaluate_.Close(ended);
  if (parameter_server_ != nullptr) parameter_server_->Stop(ended);
  // After a stop the evaluation still waits for a peer that will not send any more.
  context_.transport->Abort(ended);
  if (serve_thread_.joinable()) serve_thread_.join();
  if (evaluate_thread_.joinable()) evaluate_thread_.join();
}

Status Server::Prepare(v1::Ready& ready) {
  iterations_per_epoch_ = IterationsPerEpoch(context_);
  const std::span<const float> weights = context_.model->weights();
  centre_.assign(weights.begin(), weights.end());
  if (!context_.checkpoint.empty()) {
    if (is_writer()) {
      WEFT_ASSIGN_OR_RETURN(const RestoredRun restored, RestoreRun(context_));
      centre_ = restored.centre;
      first_iteration_ = restored.iteration + 1;
      ready.set_note(restored.note);
    } else {
      WEFT_ASSIGN_OR_RETURN(StateMessage state, ReceiveState(*context_.transport, context_.writer_rank(),
                                                             StatePurpose::kRestore, context_.state_deadline()));
      centre_ = std::move(state.tensors.at(0).values);
      first_iteration_ = state.iteration + 1;
    }
  }
  ready.set_parameter_count(context_.parameter_count());
  ready.set_iterations_per_epoch(iterations_per_epoch_);
  ready.set_total_iterations(TotalIterations(context_));
  return OkStatus();
}

Status Server::MeasureLink(const v1::MeasureLink& request) {
  return ProbeAsPonger(*context_.transport, static_cast<int>(request.worker_rank()), context_.peer_deadline());
}

Status Server::Train(const Plan& plan) {
  plan_ = plan;
  metrics_.emplace(context_.metrics->registry());
  if (plan.workers > 1) {
    WEFT_ASSIGN_OR_RETURN(parameter_server_, ParameterServer::Make(PlaneOptions(context_, plan), plan, centre_,
                                                                   *context_.transport, *context_.clock));
    if (first_iteration_ > 1) {
      WEFT_RETURN_IF_ERROR(parameter_server_->RestoreCentre(first_iteration_ - 1, centre_));
    }
    if (!ModelIsAtWorkers(plan)) {
      const auto evaluate = [this](const CentreSnapshot& snapshot) { to_evaluate_.Push({snapshot, /*final=*/false}); };
      parameter_server_->SetEvaluations(iterations_per_epoch_, evaluate, TotalIterations(context_));
    }
    serve_thread_ = std::thread([this] { Serve(); });
  }
  // Where the model is at the workers, worker 0 sends it to server 0 alone.
  if (is_writer() || SendsCentre()) evaluate_thread_ = std::thread([this] { EvaluateAll(); });
  return OkStatus();
}

void Server::Serve() {
  Status status = parameter_server_->Run();
  if (status.ok()) status = SendReport();
  if (!status.ok()) {
    context_.inbox.PushError(status);
    return;
  }
  if (!ModelIsAtWorkers(plan_)) to_evaluate_.Push({parameter_server_->Centre(), /*final=*/true});
}

Status Server::SendReport() {
  const ServerStatistics statistics = parameter_server_->Statistics();
  const LinkUse& received = statistics.received;
  const LinkUse& sent = statistics.sent;
  v1::AgentMessage message;
  v1::ServerReport& report = *message.mutable_server();
  report.set_busy_seconds(std::max(received.busy_seconds, sent.busy_seconds));
  report.set_concurrent_seconds(std::max(received.concurrent_seconds, sent.concurrent_seconds));
  report.set_peak_bytes_per_second(std::max(received.peak_bytes_per_second, sent.peak_bytes_per_second));
  report.set_received_bytes(received.bytes);
  report.set_sent_bytes(sent.bytes);
  return context_.coordinator->Send(std::move(message));
}

void Server::EvaluateAll() {
  while (true) {
    const Result<bool> last = ModelIsAtWorkers(plan_) ? EvaluateNextWorkerModel() : EvaluateNextCentre();
    if (!last.ok()) context_.inbox.PushError(last.status());
    if (!last.ok() || *last) return;
  }
}

Result<bool> Server::EvaluateNextWorkerModel() {
  WEFT_ASSIGN_OR_RETURN(const StateMessage model,
                        ReceiveState(*context_.transport, /*from=*/0, StatePurpose::kEvaluation, kUntilAborted));
  WEFT_RETURN_IF_ERROR(Evaluate(model.tensors.at(0).values, model.iteration, model.final));
  return model.final;
}

Result<bool> Server::EvaluateNextCentre() {
  WEFT_ASSIGN_OR_RETURN(const CentreToEvaluate next, to_evaluate_.Pop(kUntilClosed));
  const std::int64_t iteration = next.snapshot.iteration;
  if (!is_writer()) {
    WEFT_RETURN_IF_ERROR(SendState(*context_.transport, context_.writer_rank(), StatePurpose::kEvaluation,
                                   PartOfCentre(next.snapshot, iteration, next.final), context_.state_deadline()));
    return next.final;
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<float> weights,
                        AssembleCentre(context_, plan_, next.snapshot, iteration, StatePurpose::kEvaluation));
  WEFT_RETURN_IF_ERROR(Evaluate(weights, iteration, next.final));
  return next.final;
}

// Also writes model.safetensors, when it is the final model.
Status Server::Evaluate(std::span<const float> weights, std::int64_t iteration, bool final) {
  std::ranges::copy(weights, context_.model->weights().begin());
  v1::AgentMessage message;
  v1::EvaluationResult& result = *message.mutable_evaluation();
  if (final) {
    const std::string path = context_.run_directory + "/model.safetensors";
    WEFT_RETURN_IF_ERROR(WriteModelFile(path, *context_.model));
    result.set_model_path(path);
  }
  WEFT_ASSIGN_OR_RETURN(const Evaluation evaluation, EvaluateOnTestSplit(*context_.model, *context_.dataset));
  result.set_iteration(iteration);
  result.set_epoch(iteration / iterations_per_epoch_);
  result.set_loss(evaluation.loss);
  result.set_accuracy(evaluation.accuracy);
  result.set_final(final);
  metrics_->RecordAccuracy(evaluation.accuracy);
  return context_.coordinator->Send(std::move(message));
}

Status Server::OnPause(const v1::CommitPause& pause) {
  const std::int64_t iteration = pause.iteration();
  CentreSnapshot own;
  const bool has_centre = !ModelIsAtWorkers(plan_);
  if (has_centre) {
    WEFT_ASSIGN_OR_RETURN(own, parameter_server_->CentreAt(iteration));
  }
  v1::AgentMessage message;
  message.mutable_checkpoint()->set_iteration(iteration);
  const TimePoint start = context_.clock->Now();
  if (is_writer()) {
    WEFT_ASSIGN_OR_RETURN(const std::string path, SaveRun(context_, plan_, iteration, has_centre ? &own : nullptr));
    message.mutable_checkpoint()->set_path(path);
  } else if (SendsCentre()) {
    WEFT_RETURN_IF_ERROR(SendState(*context_.transport, context_.writer_rank(), StatePurpose::kCheckpoint,
                                   PartOfCentre(own, iteration, /*final=*/false), context_.state_deadline()));
  }
  message.mutable_checkpoint()->set_seconds(ToSeconds(context_.clock->Now() - start));
  return context_.coordinator->Send(std::move(message));
}

void Server::OnIdle() {
  if (parameter_server_ != nullptr) metrics_->Record(parameter_server_->Statistics());
}

}  // namespace

std::unique_ptr<Role> MakeServer(RankContext& context) { return std::make_unique<Server>(context); }

}  // namespace weft
