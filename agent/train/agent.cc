#include "agent/train/agent.h"

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <utility>

#include "agent/client/coordinator_client.h"
#include "agent/train/agent_metrics.h"
#include "agent/train/plan_check.h"
#include "agent/train/rank_context.h"
#include "agent/train/role.h"
#include "common/log.h"
#include "common/plan/json.h"
#include "proto/coordinator.pb.h"

namespace weft {
namespace {

using std::chrono::seconds;

// After this rank has failed, how long the coordinator may take to say Exit.
constexpr Duration kExitGrace = seconds(3);
// How often a rank without a message brings its metrics up to date.
constexpr Duration kIdleInterval = seconds(1);
// The coordinator gathers 2 cores' worth of ranks in a second; a large job's images may take minutes to be pulled.
constexpr Duration kConnectTimeout = seconds(30);

std::string HostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

Result<Plan> PlanFor(const std::string& json, const RankContext& context) {
  WEFT_ASSIGN_OR_RETURN(Plan plan, ParsePlan(json));
  // Without parameter servers a job's servers are idle, and the plan may not speak of them.
  const bool servers_fit = plan.servers == context.servers || !UsesParameterServers(plan.strategy);
  if (plan.workers != context.workers || !servers_fit) {
    return InvalidArgumentError("plan: made for " + std::to_string(plan.workers) + " workers and " +
                                std::to_string(plan.servers) + " servers, the run has " +
                                std::to_string(context.workers) + " and " + std::to_string(context.servers));
  }
  WEFT_RETURN_IF_ERROR(CheckPlanFitsModel(plan, context.model->layers()));
  return plan;
}

void OnCommitPause(const v1::CommitPause& commit, RankContext& context) {
  PauseAction action = PauseAction::kCheckpoint;
  if (commit.action() == v1::PAUSE_ACTION_CHECKPOINT_AND_STOP) action = PauseAction::kCheckpointAndStop;
  if (commit.action() == v1::PAUSE_ACTION_REPLAN) {
    action = PauseAction::kReplan;
    const Result<Plan> plan = PlanFor(commit.plan_json(), context);
    if (plan.ok()) {
      context.plans.Push(*plan);
    } else {
      context.plans.PushError(plan.status());
    }
  }
  context.gate.Commit(commit.iteration(), action);
}

// What can be done at once, on the client's thread; everything else waits for the main thread.
void Dispatch(const v1::CoordinatorMessage& message, CoordinatorClient& coordinator, RankContext& context, Role& role) {
  switch (message.message_case()) {
    case v1::CoordinatorMessage::kProposePause: {
      const std::int64_t iteration = message.propose_pause().iteration();
      const PauseGate::Vote vote = role.VoteOnPause(iteration);
      v1::AgentMessage answer;
      answer.mutable_pause_vote()->set_iteration(iteration);
      answer.mutable_pause_vote()->set_accepted(vote.accepted);
      answer.mutable_pause_vote()->set_current_iteration(vote.current_iteration);
      // A stream that is gone comes back through on_lost.
      (void)coordinator.Send(std::move(answer));
      return;
    }
    case v1::CoordinatorMessage::kCommitPause: {
      OnCommitPause(message.commit_pause(), context);
      context.inbox.Push(message);
      return;
    }
    case v1::CoordinatorMessage::kCancelPause:
      context.gate.Cancel(message.cancel_pause().iteration());
      return;
    case v1::CoordinatorMessage::kVerdict:
      context.gate.Decide(message.verdict().iteration(), message.verdict().stop());
      return;
    case v1::CoordinatorMessage::kFinishNow:
      context.gate.FinishNow();
      return;
    case v1::CoordinatorMessage::kExit:
      if (message.exit().code() != 0) {
        const Status cause = CancelledError(message.exit().reason());
        context.gate.Close(cause);
        context.transport->Abort(cause);
      }
      context.inbox.Push(message);
      return;
    default:
      context.inbox.Push(message);
  }
}

Status SendRegister(const AgentOptions& options, const RankContext& context, int metrics_port) {
  v1::AgentMessage message;
  v1::Register& hello = *message.mutable_register_();
  hello.set_job(options.job);
  hello.set_role(context.is_worker() ? v1::ROLE_WORKER : v1::ROLE_SERVER);
  hello.set_rank(static_cast<std::uint32_t>(context.rank));
  hello.set_index(static_cast<std::uint32_t>(context.is_worker() ? context.rank : context.rank - context.workers));
  hello.set_pid(getpid());
  hello.set_host(HostName());
  hello.set_metrics_port(static_cast<std::uint32_t>(metrics_port));
  hello.set_transport(context.transport->description());
  hello.set_highest_generation(options.generation);
  return context.coordinator->Send(std::move(message));
}

Status HandlePrepare(const v1::Prepare& prepare, RankContext& context, Role& role) {
  WEFT_RETURN_IF_ERROR(PrepareContext(prepare, context));
  v1::AgentMessage message;
  WEFT_RETURN_IF_ERROR(role.Prepare(*message.mutable_ready()));
  return context.coordinator->Send(std::move(message));
}

Status HandleTrain(const v1::Train& train, RankContext& context, Role& role) {
  WEFT_ASSIGN_OR_RETURN(const Plan plan, PlanFor(train.plan_json(), context));
  for (const std::string& json : train.later_plans_json()) {
    WEFT_ASSIGN_OR_RETURN(Plan later, PlanFor(json, context));
    context.later_plans.push_back(std::move(later));
  }
  return role.Train(plan, train);
}

// Until Exit, whose code it returns.
Result<int> Serve(RankContext& context, Role& role) {
  while (true) {
    const Result<v1::CoordinatorMessage> next = context.inbox.Pop(context.clock->Now() + kIdleInterval);
    if (next.status().code() == StatusCode::kDeadlineExceeded) {
      role.OnIdle();
      continue;
    }
    WEFT_ASSIGN_OR_RETURN(const v1::CoordinatorMessage message, next);
    switch (message.message_case()) {
      case v1::CoordinatorMessage::kPrepare:
        WEFT_RETURN_IF_ERROR(HandlePrepare(message.prepare(), context, role));
        break;
      case v1::CoordinatorMessage::kMeasureProfile:
        WEFT_RETURN_IF_ERROR(role.MeasureProfile(message.measure_profile()));
        break;
      case v1::CoordinatorMessage::kMeasureLink:
        WEFT_RETURN_IF_ERROR(role.MeasureLink(message.measure_link()));
        break;
      case v1::CoordinatorMessage::kTrain:
        WEFT_RETURN_IF_ERROR(HandleTrain(message.train(), context, role));
        break;
      case v1::CoordinatorMessage::kExit:
        return message.exit().code();
      case v1::CoordinatorMessage::kCommitPause:
        WEFT_RETURN_IF_ERROR(role.OnPause(message.commit_pause()));
        break;
      default:
        return InternalError("the coordinator sent a message that this rank does not know");
    }
  }
}

// Tells the coordinator and waits a little for its Exit, which carries the code for the whole run.
int Fail(const Status& error, RankContext& context) {
  v1::AgentMessage message;
  message.mutable_failure()->set_code(static_cast<int>(error.code()));
  message.mutable_failure()->set_message(error.message());
  if (!context.coordinator->Send(std::move(message)).ok()) return 1;
  const TimePoint deadline = context.clock->Now() + kExitGrace;
  while (true) {
    const Result<v1::CoordinatorMessage> answer = context.inbox.Pop(deadline);
    if (!answer.ok()) return 1;
    if (answer->has_exit()) return answer->exit().code();
  }
}

}  // namespace

int RunAgent(const AgentOptions& options, Transport& transport, Clock& clock) {
  RankContext context;
  context.job_name = options.job;
  context.generation = options.generation;
  context.rank = transport.rank();
  context.workers = options.workers;
  context.servers = options.servers;
  context.peer_timeout = options.peer_timeout;
  context.transport = &transport;
  context.clock = &clock;

  const std::unique_ptr<Role> role = context.is_worker() ? MakeWorker(context) : MakeServer(context);
  const int port = options.metrics_port <= 0 ? options.metrics_port : options.metrics_port + 1 + context.rank;
  Result<std::unique_ptr<AgentMetrics>> metrics = AgentMetrics::Start(options.job, options.metrics_host, port);
  if (metrics.ok()) context.metrics = metrics->get();

  CoordinatorClient::Handlers handlers;
  handlers.on_message = [&](CoordinatorClient& coordinator, const v1::CoordinatorMessage& message) {
    Dispatch(message, coordinator, context, *role);
  };
  handlers.on_lost = [&](const Status& cause) {
    context.gate.Close(cause);
    context.inbox.Close(cause);
    transport.Abort(cause);
  };
  Result<std::unique_ptr<CoordinatorClient>> client =
      CoordinatorClient::Connect(options.coordinator, options.generation, clock.Now() + kConnectTimeout, handlers);
  if (!client.ok()) {
    LogError("no coordinator", {{"cause", client.status().message()}});
    return 1;
  }
  context.coordinator = client->get();

  // Also without metrics: the coordinator takes a cause only from a rank that it knows.
  Status status = SendRegister(options, context, metrics.ok() ? metrics.value()->port() : 0);
  if (status.ok()) status = metrics.status();
  if (status.ok()) {
    const Result<int> code = Serve(context, *role);
    if (code.ok()) {
      (*client)->Close();
      return *code;
    }
    status = code.status();
  }
  if (status.code() != StatusCode::kCancelled) LogError("rank failed", {{"cause", status.message()}});
  return Fail(status, context);
}

}  // namespace weft
