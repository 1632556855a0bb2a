// What runs in a ParameterServer: one thread, events in, messages out. Kept apart from parameter_server.h so that its
// users see the interface only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agent/dataplane/chunks.h"
#include "agent/dataplane/control_message.h"
#include "agent/dataplane/direction_meter.h"
#include "agent/dataplane/event_queue.h"
#include "agent/dataplane/link_scheduler.h"
#include "agent/dataplane/parameter_server.h"
#include "agent/dataplane/phase_estimator.h"
#include "agent/dataplane/shard_rounds.h"
#include "common/mutex.h"

namespace weft {

class ServerLoop : public ParameterServer {
 public:
  ServerLoop(const ParameterServerOptions& options, const Plan& plan, std::span<const float> initial_weights,
             Transport& transport, Clock& clock);
  ~ServerLoop() override;

  Status RestoreCentre(std::int64_t iteration, std::span<const float> weights) override WEFT_EXCLUDES(mutex_);
  void SetEvaluations(std::int64_t period, std::function<void(const CentreSnapshot&)> callback,
                      std::int64_t last_iteration) override;
  Result<bool> Run() override WEFT_EXCLUDES(mutex_);
  void Stop(const Status& cause) override;
  CentreSnapshot Centre() const override WEFT_EXCLUDES(mutex_);
  Result<CentreSnapshot> CentreAt(std::int64_t iteration) const override WEFT_EXCLUDES(mutex_);
  ServerStatistics Statistics() const override WEFT_EXCLUDES(mutex_);

 private:
  struct ControlArrived {
    int worker;
    Status status;
    TimePoint time;
  };
  struct Moved {  // a chunk of a payload
    std::int64_t transfer;
    bool push;
    Status status;
    TimePoint time;
  };
  struct ControlSent {
    int worker;
    bool farewell;  // the last message before Run ends with an error
    Status status;
  };
  struct StopAsked {
    Status cause;
  };
  using Event = std::variant<ControlArrived, Moved, ControlSent, StopAsked>;

  // A request of a worker for a shard's round: waits for the round before, then (with admission) for the link, then is
  // a transfer under way until its push is in and its pull is out.
  struct Transfer {
    int worker = 0;
    std::size_t shard = 0;  // of this server's
    std::int64_t round = 0;
    std::int64_t samples = 0;
    bool last = false;
    TimePoint arrived{};
    Duration staleness_wait{};
    TimePoint progress{};  // granted, or a chunk moved
    TimePoint push_progress{};
    TimePoint pull_progress{};
    SharedFloats pull;
    int pushed_chunks = 0;
    int pulled_chunks = 0;
    bool pull_begun = false;
  };
  struct ShardState {
    Shard place;
    int channel = 0;  // its index in the plan
    Chunks chunks;
    ShardRounds rounds;
    bool last = false;                  // the round that is being built ends the run
    std::optional<TimePoint> begun;     // when the first request for it came
    std::vector<std::int64_t> waiting;  // transfers for later rounds, in order of arrival
    std::vector<std::int64_t> replies;  // synchronous: transfers that get the mean when it is committed
    std::int64_t next_evaluation = 0;
  };

  void ReceiveControl(int worker);
  void SendControl(int worker, ControlMessage message);
  void Handle(Event event);
  void OnControl(const ControlArrived& event);
  void OnRequest(int worker, const ControlMessage& message, TimePoint now);
  void OnMoved(const Moved& event);
  void GrantReady(TimePoint now);
  void Grant(std::int64_t id, TimePoint now);
  void BeginPull(std::int64_t id, TimePoint now);
  void BeginNextPull(TimePoint now);
  void CommitRound(std::size_t shard, TimePoint now) WEFT_EXCLUDES(mutex_);
  void CaptureEvaluations(std::size_t shard);
  void CheckTimeouts(TimePoint now);
  void Fail(const Status& status, int rank_at_fault);
  Status TellWorkersAndAbort() WEFT_EXCLUDES(mutex_);
  TimePoint NextWake(TimePoint now) const;
  std::string WorkerName(int worker) const;
  std::string PeerName(int rank) const;
  std::string RoundName(const Transfer& transfer) const;

  // Constant after construction (restored iteration and evaluations: from Run on).
  const ParameterServerOptions options_;
  const Plan plan_;
  const int server_;
  const bool interleaved_;
  const bool admission_;
  Transport& transport_;
  Clock& clock_;
  std::int64_t restored_iteration_ = 0;
  std::int64_t evaluation_period_ = 0;
  std::int64_t last_evaluation_ = 0;  // none is after this iteration
  std::function<void(const CentreSnapshot&)> on_evaluation_;
  const std::shared_ptr<EventQueue<Event>> events_;

  // Run's thread only.
  std::vector<ShardState> shards_;
  std::map<int, std::size_t> shard_of_channel_;
  std::vector<ControlBuffer> control_buffers_;  // by worker, owned by the transport while a receive is posted
  std::vector<bool> goodbye_;                   // by worker
  std::optional<bool> for_good_;                // what the goodbyes say
  std::int64_t outstanding_ = 0;                // operations whose event has not been handled
  std::map<std::int64_t, Transfer> transfers_;  // by number
  std::int64_t next_transfer_ = 0;
  std::deque<std::int64_t> ready_;  // may be granted as soon as the link is free
  std::deque<std::int64_t> pulls_;  // granted; one pull at a time is under way with admission
  bool pull_under_way_ = false;
  LinkScheduler scheduler_;
  PhaseEstimator phases_;
  std::map<std::int64_t, std::map<std::size_t, SharedFloats>> evaluations_;  // by iteration, shards captured so far
  TimePoint next_timeout_check_{};
  Status failure_;
  int rank_at_fault_ = -1;

  mutable Mutex mutex_;
  mutable CondVar changed_;
  std::vector<SharedFloats> centres_ WEFT_GUARDED_BY(mutex_);    // by shard: its rounds' committed values
  std::vector<std::int64_t> committed_ WEFT_GUARDED_BY(mutex_);  // by shard: how many rounds
  std::int64_t last_iteration_ WEFT_GUARDED_BY(mutex_) = 0;      // of the workers' last synchronization
  Status ended_ WEFT_GUARDED_BY(mutex_);                         // why Run ended, when by an error
  mutable DirectionMeter received_ WEFT_GUARDED_BY(mutex_);
  mutable DirectionMeter sent_ WEFT_GUARDED_BY(mutex_);
  ServerStatistics counters_ WEFT_GUARDED_BY(mutex_);  // the waits and refusals
};

}  // namespace weft
