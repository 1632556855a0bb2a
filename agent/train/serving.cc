#include "agent/train/serving.h"

#include <algorithm>
#include <string>
#include <utility>

#include "agent/train/centre.h"

namespace weft {
namespace {

void AddTo(LinkUse& sum, const LinkUse& more) {
  sum.busy_seconds += more.busy_seconds;
  sum.concurrent_seconds += more.concurrent_seconds;
  sum.peak_bytes_per_second = std::max(sum.peak_bytes_per_second, more.peak_bytes_per_second);
  sum.active = more.active;
  sum.bytes += more.bytes;
  sum.transfers += more.transfers;
}

ServerStatistics Sum(ServerStatistics sum, const ServerStatistics& more) {
  AddTo(sum.received, more.received);
  AddTo(sum.sent, more.sent);
  sum.staleness_waits += more.staleness_waits;
  sum.staleness_wait_seconds += more.staleness_wait_seconds;
  sum.refused_messages += more.refused_messages;
  return sum;
}

}  // namespace

Serving::~Serving() {
  const Status ended = CancelledError("the rank ends");
  {
    const MutexLock lock(mutex_);
    if (ended_.ok()) ended_ = ended;
    changed_.NotifyAll();
    if (server_ != nullptr) server_->Stop(ended);
  }
  // A change of the plan may wait for another server, or a part of the centre for server 0 to take it.
  context_.transport->Abort(ended);
  if (thread_.joinable()) thread_.join();
}

Result<std::shared_ptr<ParameterServer>> Serving::Make(const std::shared_ptr<const Plan>& plan, std::int64_t iteration,
                                                       const std::vector<float>& centre) const {
  WEFT_ASSIGN_OR_RETURN(
      std::shared_ptr<ParameterServer> server,
      ParameterServer::Make(PlaneOptions(context_, *plan), *plan, centre, *context_.transport, *context_.clock));
  if (iteration > 0) WEFT_RETURN_IF_ERROR(server->RestoreCentre(iteration, centre));
  if (handlers_.on_centre) {
    const auto evaluate = [this, plan](const CentreSnapshot& snapshot) {
      handlers_.on_centre({snapshot, plan}, /*final=*/false);
    };
    server->SetEvaluations(IterationsPerEpoch(context_), evaluate, TotalIterations(context_));
  }
  return server;
}

Status Serving::Start(const Plan& plan, std::int64_t iteration, const std::vector<float>& centre) {
  const auto shared = std::make_shared<const Plan>(plan);
  WEFT_ASSIGN_OR_RETURN(std::shared_ptr<ParameterServer> server, Make(shared, iteration, centre));
  {
    const MutexLock lock(mutex_);
    plan_ = shared;
    server_ = std::move(server);
  }
  thread_ = std::thread([this] {
    const Status status = Serve();
    if (status.ok()) return;
    {
      const MutexLock lock(mutex_);
      if (ended_.ok()) ended_ = status;
      changed_.NotifyAll();
    }
    handlers_.on_error(status);
  });
  return OkStatus();
}

Status Serving::Serve() {
  while (true) {
    std::shared_ptr<ParameterServer> server;
    {
      const MutexLock lock(mutex_);
      server = server_;
    }
    WEFT_ASSIGN_OR_RETURN(const bool for_good, server->Run());
    if (for_good) break;
    WEFT_ASSIGN_OR_RETURN(const NextPlan next, AwaitPlan());
    WEFT_RETURN_IF_ERROR(ChangeTo(next.plan));
    if (next.then) WEFT_RETURN_IF_ERROR(next.then());
  }
  WEFT_RETURN_IF_ERROR(handlers_.on_end(Statistics()));
  if (!handlers_.on_centre) return OkStatus();
  PlannedCentre last;
  {
    const MutexLock lock(mutex_);
    last = {server_->Centre(), plan_};
  }
  handlers_.on_centre(std::move(last), /*final=*/true);
  return OkStatus();
}

void Serving::AddPlan(const Plan& plan, std::function<Status()> then) {
  const MutexLock lock(mutex_);
  next_.push_back({plan, std::move(then)});
  changed_.NotifyAll();
}

Result<Serving::NextPlan> Serving::AwaitPlan() const {
  const TimePoint deadline = context_.peer_deadline();
  const MutexLock lock(mutex_);
  while (next_.empty()) {
    if (!ended_.ok()) return ended_;
    if (!changed_.WaitUntil(mutex_, deadline) && next_.empty()) {
      return DeadlineExceededError("the workers left their plan, and no other one came in time");
    }
  }
  return next_.front();
}

Status Serving::ChangeTo(const Plan& next) {
  PlannedCentre old;
  {
    const MutexLock lock(mutex_);
    old = {server_->Centre(), plan_};
  }
  const std::int64_t iteration = next.from_iteration - 1;
  WEFT_ASSIGN_OR_RETURN(const std::vector<float> centre, MoveCentre(context_, *old.plan, next, old.snapshot));
  const auto shared = std::make_shared<const Plan>(next);
  WEFT_ASSIGN_OR_RETURN(std::shared_ptr<ParameterServer> server, Make(shared, iteration, centre));
  const MutexLock lock(mutex_);
  before_ = Sum(before_, server_->Statistics());
  plan_ = shared;
  server_ = std::move(server);
  next_.pop_front();
  changed_.NotifyAll();
  return OkStatus();
}

Result<PlannedCentre> Serving::CentreAt(std::int64_t iteration) const {
  const TimePoint deadline = context_.peer_deadline();
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<ParameterServer> server;
  {
    const MutexLock lock(mutex_);
    // Behind the last iteration of a plan its own server has the centre, and the next one's as well.
    while (!next_.empty() && next_.front().plan.from_iteration <= iteration) {
      if (!ended_.ok()) return ended_;
      if (!changed_.WaitUntil(mutex_, deadline) && Clock::Steady().Now() >= deadline) {
        return DeadlineExceededError("the plan from iteration " + std::to_string(next_.front().plan.from_iteration) +
                                     " on did not take effect in time");
      }
    }
    plan = plan_;
    server = server_;
  }
  WEFT_ASSIGN_OR_RETURN(CentreSnapshot snapshot, server->CentreAt(iteration));
  return PlannedCentre{std::move(snapshot), std::move(plan)};
}

ServerStatistics Serving::Statistics() const {
  const MutexLock lock(mutex_);
  return server_ == nullptr ? before_ : Sum(before_, server_->Statistics());
}

}  // namespace weft
