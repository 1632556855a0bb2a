// A worker's transfers: starts each at its slot, pushes when the server grants it (or at once), takes the pull, and
// tells who waits when a group's round is through. One thread of its own works on events; Start, Wait, TakeRecords and
// Goodbye are the trainer's thread's.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "agent/dataplane/chunks.h"
#include "agent/dataplane/control_message.h"
#include "agent/dataplane/data_plane.h"
#include "agent/dataplane/event_queue.h"
#include "agent/dataplane/parameter_server_options.h"
#include "agent/transport/transport.h"
#include "common/mutex.h"

namespace weft {

// One shard of a group in one round. Push and pull belong to the exchange until the round is through.
struct ExchangeOrder {
  int channel = 0;  // the shard's index in the plan
  std::int64_t round = 0;
  std::int64_t iteration = 0;
  std::int64_t samples = 0;
  bool last = false;  // of the synchronization that ends the run
  int slot = 0;       // place in the round's order
  std::span<const float> push;
  std::span<float> pull;  // may be where the push is: it is received when the push has left
  TimePoint iteration_start{};
  std::optional<TimePoint> planned_start;  // before the server's correction; not given: now
  Duration slot_length{};
};

class WorkerExchange {
 public:
  // What came of a group's round.
  struct Outcome {
    Duration waited{};         // by the caller
    std::int64_t samples = 0;  // synchronous: of all workers
  };

  // The transport and the clock outlive the exchange.
  WorkerExchange(const ParameterServerOptions& options, const Plan& plan, Transport& transport, Clock& clock);
  // Aborts the transport unless Goodbye has succeeded.
  ~WorkerExchange();
  WorkerExchange(const WorkerExchange&) = delete;
  WorkerExchange& operator=(const WorkerExchange&) = delete;

  // All shards of one group's round.
  void Start(int group, std::int64_t round, const std::vector<ExchangeOrder>& orders) WEFT_EXCLUDES(mutex_);

  // True when the group's round, which was started, is through.
  bool Through(int group, std::int64_t round) const WEFT_EXCLUDES(mutex_);

  // Waits until it is, and forgets it. A slot never makes its own worker wait: what has not been asked for yet is asked
  // for at once. The exchange's error when it has failed. DEADLINE_EXCEEDED: not within the
  // peers' time-out; names the server. The exchange has then failed.
  Result<Outcome> Wait(int group, std::int64_t round) WEFT_EXCLUDES(mutex_);

  // The same, but the round can be waited for again.
  Status Settle(int group, std::int64_t round) WEFT_EXCLUDES(mutex_);

  // The first error, or OK. UNAVAILABLE, DEADLINE_EXCEEDED, DATA_LOSS and FAILED_PRECONDITION name the rank at fault.
  Status status() const WEFT_EXCLUDES(mutex_);

  // The transfers that ended since the last call.
  std::vector<TransferRecord> TakeRecords() WEFT_EXCLUDES(mutex_);

  // Tells the servers that nothing follows, or (`last` false) nothing of this plan, and waits until they have seen it.
  // All rounds must be through.
  Status Goodbye(bool last) WEFT_EXCLUDES(mutex_);

 private:
  Result<Outcome> WaitUntilThrough(int group, std::int64_t round, bool forget) WEFT_EXCLUDES(mutex_);

  using Key = std::pair<int, std::int64_t>;  // shard's channel, round

  enum class Stage { kSlotAhead, kRequested, kGranted };
  struct Transfer {
    ExchangeOrder order;
    Chunks chunks;
    Stage stage = Stage::kSlotAhead;
    bool push_begun = false;
    bool pull_begun = false;
    int pushed_chunks = 0;
    int pulled_chunks = 0;
    TransferRecord record;
  };
  struct GroupRound {
    int shards_left = 0;
    std::int64_t samples = 0;
    std::map<int, Stage> stages;  // by channel, of the shards that are left
  };

  struct Started {
    std::vector<ExchangeOrder> orders;
  };
  struct WaitedFor {
    int group;
    std::int64_t round;
  };
  struct ControlArrived {
    int server;
    Status status;
  };
  struct Moved {
    Key key;
    bool push;
    Status status;
    TimePoint time;
  };
  struct ControlSent {
    int server;
    bool farewell;  // the last message before the transport is aborted
    Status status;
  };
  struct GoodbyeAsked {
    bool last;
  };
  struct FailAsked {
    Status cause;
    int rank_at_fault;
  };
  using Event = std::variant<Started, WaitedFor, ControlArrived, Moved, ControlSent, GoodbyeAsked, FailAsked>;

  // The exchange's thread.
  void Loop() WEFT_EXCLUDES(mutex_);
  void Handle(Event event);
  void OnStarted(const Started& event);
  void OnControl(const ControlArrived& event);
  void OnGrant(int server, const ControlMessage& message);
  void OnMoved(const Moved& event);
  void OnWaitedFor(const WaitedFor& event);
  void SendDueRequests(TimePoint now);
  void SendRequest(const Key& key, Transfer& transfer, TimePoint now);
  void ReceiveControl(int server);
  void SendControl(int server, ControlMessage message);
  void BeginPush(const Key& key, Transfer& transfer);
  void BeginPull(const Key& key, Transfer& transfer);
  void EndIfThrough(const Key& key, TimePoint now) WEFT_EXCLUDES(mutex_);
  void SetStage(Transfer& transfer, Stage stage) WEFT_EXCLUDES(mutex_);
  // `rank_at_fault` is told to the servers.
  void Fail(const Status& status, int rank_at_fault) WEFT_EXCLUDES(mutex_);
  std::string ServerName(int server) const;
  std::string PeerName(int rank) const;
  std::string LimitText() const;

  // Constant after construction.
  const ParameterServerOptions options_;
  const int workers_;
  const int servers_;
  const std::vector<Shard> shards_;
  const StrategyType strategy_;
  const bool wait_for_grant_;
  Transport& transport_;
  Clock& clock_;
  const std::shared_ptr<EventQueue<Event>> events_;

  // The exchange's thread only.
  std::map<Key, Transfer> transfers_;
  using Due = std::pair<TimePoint, Key>;
  // Requests that wait for their slot, and those that did until their group was waited for.
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::vector<ControlBuffer> control_buffers_;  // by server
  std::vector<Duration> corrections_;           // by server, of the slots' start
  int goodbyes_ = 0;                            // of servers
  bool goodbye_asked_ = false;
  std::int64_t outstanding_ = 0;  // operations whose event has not been handled
  bool done_ = false;

  mutable Mutex mutex_;
  CondVar changed_;
  std::map<std::pair<int, std::int64_t>, GroupRound> rounds_ WEFT_GUARDED_BY(mutex_);  // by group and round
  std::vector<TransferRecord> records_ WEFT_GUARDED_BY(mutex_);
  Status error_ WEFT_GUARDED_BY(mutex_);
  bool said_goodbye_ WEFT_GUARDED_BY(mutex_) = false;  // and all servers have seen it

  std::thread thread_;  // last: it uses all the others
};

}  // namespace weft
