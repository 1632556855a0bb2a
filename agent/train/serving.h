// A server's parameter server over all the plans of a run: when the workers leave one for the next plan, their centre
// moves on to a parameter server of that plan. One thread of its own serves.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "agent/dataplane/parameter_server.h"
#include "agent/train/rank_context.h"
#include "common/mutex.h"
#include "common/plan/plan.h"
#include "common/status.h"

namespace weft {

// This server's part of the centre, and the plan that says which servers have the others.
struct PlannedCentre {
  CentreSnapshot snapshot;
  std::shared_ptr<const Plan> plan;
};

// Used by the rank's main thread; the handlers are called on the serving one.
class Serving {
 public:
  struct Handlers {
    // At each epoch's end, and once more behind the last synchronization. Null where the servers keep no model.
    std::function<void(PlannedCentre, bool final)> on_centre;
    // The workers have ended the run; what they have pushed is on the link's account.
    std::function<Status(const ServerStatistics&)> on_end;
    // An error, which is the last that is told.
    std::function<void(const Status&)> on_error;
  };

  // `context` outlives it.
  Serving(RankContext& context, Handlers handlers) : context_(context), handlers_(std::move(handlers)) {}
  // Stops to serve, and aborts the transport unless the run has ended.
  ~Serving();
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

  // Begins to serve by `plan`, with the centre as it is at the end of `iteration`. Errors: as ParameterServer::Make.
  Status Start(const Plan& plan, std::int64_t iteration, const std::vector<float>& centre);

  // The next plan. Those of a run are told in the order of their from_iteration, each before or soon after the workers
  // change to it. `then` is called, on the serving thread, once the server has changed; it may be null.
  void AddPlan(const Plan& plan, std::function<Status()> then) WEFT_EXCLUDES(mutex_);

  // As ParameterServer::CentreAt, by the plan that holds in `iteration`.
  Result<PlannedCentre> CentreAt(std::int64_t iteration) const WEFT_EXCLUDES(mutex_);

  // Of all plans so far together.
  ServerStatistics Statistics() const WEFT_EXCLUDES(mutex_);

 private:
  struct NextPlan {
    Plan plan;
    std::function<Status()> then;
  };

  Result<std::shared_ptr<ParameterServer>> Make(const std::shared_ptr<const Plan>& plan, std::int64_t iteration,
                                                const std::vector<float>& centre) const;
  Status Serve() WEFT_EXCLUDES(mutex_);
  // Waits for the next plan. DEADLINE_EXCEEDED: it did not come within the peers' time-out.
  Result<NextPlan> AwaitPlan() const WEFT_EXCLUDES(mutex_);
  Status ChangeTo(const Plan& next) WEFT_EXCLUDES(mutex_);

  RankContext& context_;
  const Handlers handlers_;

  mutable Mutex mutex_;
  mutable CondVar changed_;
  std::shared_ptr<const Plan> plan_ WEFT_GUARDED_BY(mutex_);
  std::shared_ptr<ParameterServer> server_ WEFT_GUARDED_BY(mutex_);
  std::deque<NextPlan> next_ WEFT_GUARDED_BY(mutex_);  // the first of them until the server has changed to it
  ServerStatistics before_ WEFT_GUARDED_BY(mutex_);    // of the plans before
  Status ended_ WEFT_GUARDED_BY(mutex_);               // why, when by an error

  std::thread thread_;  // last: it uses all the others
};

}  // namespace weft
