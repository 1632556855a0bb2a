// A server's part of a run. Beside the main thread, which saves checkpoints while all workers stand still, one thread
// serves, where the strategy has parameter servers (Serving's), and one has to do with evaluation: on server 0 it
// evaluates (the RunWriter's), on the others it sends their part of the centre there.
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
#include "agent/train/mailbox.h"
#include "agent/train/rank_context.h"
#include "agent/train/role.h"
#include "agent/train/serving.h"
#include "agent/train/state_exchange.h"
#include "agent/train/writer.h"
#include "agent/transport/probe.h"

namespace weft {
namespace {

class Server : public Role {
 public:
  explicit Server(RankContext& context) : context_(context), index_(context.rank - context.workers) {}
  ~Server() override;

  Status Prepare(v1::Ready& ready) override;
  Status MeasureProfile(const v1::MeasureProfile&) override {
    return InternalError("a server has no layers to measure");
  }
  Status MeasureLink(const v1::MeasureLink& request) override;
  Status Train(const Plan& plan, const v1::Train& request) override;
  Status OnPause(const v1::CommitPause& pause) override;
  void OnIdle() override;
  // Servers follow: no round of a later iteration is committed before all workers have passed the pause.
  PauseGate::Vote VoteOnPause(std::int64_t) override { return {.accepted = true, .current_iteration = 0}; }

 private:
  bool is_writer() const { return index_ == 0; }
  bool has_centre() const { return ModelPlaceOf(plan_) == ModelPlace::kCentre; }
  // Whether this server sends its part of the centre to server 0.
  bool SendsCentre(const Plan& plan) const { return !is_writer() && has_centre() && HoldsShards(plan, index_); }

  Status SendReport(const ServerStatistics& statistics);
  Status TellPauseEnded(std::int64_t iteration);
  void AddCentre(PlannedCentre centre, bool final);
  void SendCentres();

  struct Part {
    CentreSnapshot snapshot;
    bool final = false;
  };

  RankContext& context_;
  const int index_;
  std::optional<ServerMetrics> metrics_;

  // Set by Prepare and Train, on the main thread, before the other threads start.
  Plan plan_;  // the first; all of a run have its strategy
  std::int64_t first_iteration_ = 1;
  std::vector<float> centre_;        // that training starts from
  std::optional<RunWriter> writer_;  // on server 0

  Mailbox<Part> to_send_;
  std::thread send_thread_;
  std::optional<Serving> serving_;  // without pushes to serve there is none; last: it uses the others
};

Server::~Server() {
  const Status ended = CancelledError("the rank ends");
  to_send_.Close(ended);
  serving_.reset();
  // After a stop a part of the centre may still wait for server 0 to take it.
  context_.transport->Abort(ended);
  if (send_thread_.joinable()) send_thread_.join();
}

Status Server::Prepare(v1::Ready& ready) {
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
      if (state.tensors.size() != 1 || state.tensors[0].values.size() != centre_.size()) {
        return DataLossError("server 0 sent a centre that is not of this job");
      }
      centre_ = std::move(state.tensors[0].values);
      first_iteration_ = state.iteration + 1;
    }
  }
  ready.set_parameter_count(context_.parameter_count());
  ready.set_iterations_per_epoch(IterationsPerEpoch(context_));
  ready.set_total_iterations(TotalIterations(context_));
  return OkStatus();
}

Status Server::MeasureLink(const v1::MeasureLink& request) {
  return ProbeAsPonger(*context_.transport, static_cast<int>(request.worker_rank()), context_.peer_deadline());
}

Status Server::Train(const Plan& plan, const v1::Train&) {
  plan_ = plan;
  metrics_.emplace(context_.metrics->registry());
  if (is_writer()) {
    writer_.emplace(context_, plan, *context_.model);
    writer_->Start();
  } else if (has_centre()) {
    send_thread_ = std::thread([this] { SendCentres(); });
  }
  if (plan.workers == 1 || !UsesParameterServers(plan.strategy)) return OkStatus();
  Serving::Handlers handlers;
  if (has_centre())
    handlers.on_centre = [this](PlannedCentre centre, bool final) { AddCentre(std::move(centre), final); };
  handlers.on_end = [this](const ServerStatistics& statistics) { return SendReport(statistics); };
  handlers.on_error = [this](const Status& status) { context_.inbox.PushError(status); };
  serving_.emplace(context_, std::move(handlers));
  for (const Plan& later : context_.later_plans) serving_->AddPlan(later, nullptr);
  return serving_->Start(plan, first_iteration_ - 1, centre_);
}

Status Server::SendReport(const ServerStatistics& statistics) {
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

void Server::AddCentre(PlannedCentre centre, bool final) {
  if (is_writer()) return writer_->AddCentre(std::move(centre), final);
  if (SendsCentre(*centre.plan)) to_send_.Push({std::move(centre.snapshot), final});
}

void Server::SendCentres() {
  while (true) {
    const Result<Part> next = to_send_.Pop(kUntilClosed);
    if (!next.ok()) return;
    const Status sent =
        SendState(*context_.transport, context_.writer_rank(), StatePurpose::kEvaluation,
                  PartOfCentre(next->snapshot, next->snapshot.iteration, next->final), context_.state_deadline());
    if (!sent.ok()) context_.inbox.PushError(sent);
    if (!sent.ok() || next->final) return;
  }
}

Status Server::OnPause(const v1::CommitPause& pause) {
  const std::int64_t iteration = pause.iteration();
  if (pause.action() == v1::PAUSE_ACTION_REPLAN) {
    WEFT_ASSIGN_OR_RETURN(const Plan plan, context_.plans.Pop(context_.peer_deadline()));
    if (!serving_.has_value()) return TellPauseEnded(iteration);
    serving_->AddPlan(plan, [this, iteration] { return TellPauseEnded(iteration); });
    return OkStatus();
  }
  PlannedCentre own{.snapshot = {}, .plan = std::make_shared<const Plan>(plan_)};
  if (has_centre()) {
    WEFT_ASSIGN_OR_RETURN(own, serving_->CentreAt(iteration));
  }
  v1::AgentMessage message;
  message.mutable_checkpoint()->set_iteration(iteration);
  const TimePoint start = context_.clock->Now();
  if (is_writer()) {
    WEFT_ASSIGN_OR_RETURN(const std::string path,
                          SaveRun(context_, *own.plan, iteration, {.centre = has_centre() ? &own.snapshot : nullptr}));
    message.mutable_checkpoint()->set_path(path);
  } else if (SendsCentre(*own.plan)) {
    WEFT_RETURN_IF_ERROR(SendState(*context_.transport, context_.writer_rank(), StatePurpose::kCheckpoint,
                                   PartOfCentre(own.snapshot, iteration, /*final=*/false), context_.state_deadline()));
  }
  message.mutable_checkpoint()->set_seconds(ToSeconds(context_.clock->Now() - start));
  return context_.coordinator->Send(std::move(message));
}

// The server runs by the new plan.
Status Server::TellPauseEnded(std::int64_t iteration) {
  v1::AgentMessage message;
  message.mutable_checkpoint()->set_iteration(iteration);
  return context_.coordinator->Send(std::move(message));
}

void Server::OnIdle() {
  if (serving_.has_value()) metrics_->Record(serving_->Statistics());
}

}  // namespace

std::unique_ptr<Role> MakeServer(RankContext& context) { return std::make_unique<Server>(context); }

}  // namespace weft
