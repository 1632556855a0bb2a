// ADPSGD's averaging, on a thread of its own beside compute. The initiator i and its partner j exchange, per averaging:
//   i -> j  a header (4 bytes), when it is there x_i (M bytes)
//   j       x_j' <- x_j, and x_j <- x_j + (x_i - x_j)/2 in one atomic change, whatever j computes meanwhile
//   j -> i  x_j' (M bytes)
//   i       x_i <- x_i + (x_j' - x_i as it was sent)/2, whatever has happened to x_i meanwhile
// The two differences are each other's negative bit for bit, so sum_i x_i is conserved to the rounding of the
// additions.
//
// Nobody holds a lock, or refuses to serve, while it waits for an answer, so no cycle of waits can close, on any graph.
// (The paper's Algorithm 1 locks both models for the averaging, and needs a bipartite graph with an active and a
// passive side against deadlocks.) The price: between j's change and i's, x_i may have been averaged with others.
//
// A worker has one exchange of its own going; asked for another it counts "busy". After exchange_timeout without an end
// it counts "timeout" and turns to others; that exchange stays open, its partner is not drawn again, and its reply
// counts when it comes. What the link loses: a header or x_i is nobody's change yet, "lost", and an empty message takes
// x_i's place; x_j' is sent again until it is there. A partner that is gone is "peer_dead" and not drawn again. A model
// that is not finite is neither sent nor averaged: "not_finite", on both sides.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agent/dataplane/adpsgd_model.h"
#include "agent/dataplane/event_queue.h"
#include "agent/dataplane/peer_exchange.h"
#include "common/math/topology.h"
#include "common/mutex.h"

namespace weft {

class AdpsgdExchanger {
 public:
  struct Options {
    std::uint64_t seed = 1;
    Duration peer_timeout{};
    Duration exchange_timeout{};
  };
  // An averaging that this worker began and that has ended.
  struct Averaged {
    int partner = 0;
    std::int64_t iteration = 0;
    TimePoint start{};
    TimePoint end{};
  };

  // `count` is told how each exchange ends, on the exchanger's thread. The references outlive the exchanger.
  AdpsgdExchanger(const Options& options, const Topology& topology, int rank, AdpsgdModel& model,
                  PeerExchange& exchange, Clock& clock, std::function<void(const std::string&)> count);
  ~AdpsgdExchanger();
  AdpsgdExchanger(const AdpsgdExchanger&) = delete;
  AdpsgdExchanger& operator=(const AdpsgdExchanger&) = delete;

  // Begins an averaging with a partner drawn by (seed, rank, iteration), and returns at once.
  void Initiate(std::int64_t iteration) WEFT_EXCLUDES(mutex_);
  // Waits until the averaging that was begun last has ended or passed exchange_timeout: where an iteration is shorter
  // than an averaging, none would ever be of the present model.
  void AwaitAveraging() WEFT_EXCLUDES(mutex_);
  // Begins none until Resume, and waits until those that it has begun have ended; others' are served.
  // DEADLINE_EXCEEDED: not within the peers' time-out; names the partner.
  Status Quiesce() WEFT_EXCLUDES(mutex_);
  void Resume() WEFT_EXCLUDES(mutex_);
  // Tells all neighbours that nothing follows, and waits for all of theirs. Requires that all have quiesced.
  Status Farewell() WEFT_EXCLUDES(mutex_);
  std::vector<Averaged> TakeAveraged() WEFT_EXCLUDES(mutex_);

 private:
  using Floats = std::shared_ptr<std::vector<float>>;
  enum class Step {
    kInitiate,
    kFarewell,
    kStop,
    // As initiator.
    kHeaderSent,
    kModelSent,
    kReplyCome,
    // As partner.
    kHeaderCome,
    kModelCome,
    kReplySent,
    kFarewellSent,
  };
  struct Event {
    Step step;
    int n = -1;  // the neighbour's place in the topology's order
    std::int64_t iteration = 0;
    Status status;
  };
  struct Neighbour {
    int rank = 0;
    // An exchange that this worker has begun, and that has not ended.
    bool open = false;
    std::int64_t iteration = 0;
    TimePoint start{};
    Floats sent;
    Floats reply_in;
    // One that it serves.
    Floats header;
    Floats model_in;
    Floats reply_out;
    bool dead = false;
  };

  void Loop();
  void Settle() WEFT_EXCLUDES(mutex_);
  void Handle(const Event& event);
  // False: none was begun.
  bool OnInitiate(std::int64_t iteration) WEFT_EXCLUDES(mutex_);
  void OnHeaderSent(Neighbour& neighbour, const Status& status);
  void OnModelSent(Neighbour& neighbour, const Status& status);
  void OnReplyCome(Neighbour& neighbour, const Status& status) WEFT_EXCLUDES(mutex_);
  void OnHeaderCome(Neighbour& neighbour, const Status& status) WEFT_EXCLUDES(mutex_);
  void OnModelCome(Neighbour& neighbour, const Status& status);
  void OnReplySent(Neighbour& neighbour, const Status& status);
  std::optional<int> DrawFree(std::int64_t iteration) const;
  // The exchange that this worker began with it has ended so.
  void Close(Neighbour& neighbour, const std::string& result) WEFT_EXCLUDES(mutex_);
  // True when the message was lost and its receiver lives.
  bool Lost(const Neighbour& neighbour, const Status& status) const;
  void AwaitHeader(Neighbour& neighbour);
  void SendReply(Neighbour& neighbour);
  void SendFarewell(Neighbour& neighbour);
  void OnFarewellSent(Neighbour& neighbour, const Status& status) WEFT_EXCLUDES(mutex_);
  void OnDead(Neighbour& neighbour) WEFT_EXCLUDES(mutex_);
  std::function<void(const Status&)> Tell(Step step, const Neighbour& neighbour) const;
  Floats TakeBuffer();
  int PlaceOf(const Neighbour& neighbour) const { return static_cast<int>(&neighbour - neighbours_.data()); }
  // Waits until none of `counts` is above 0. DEADLINE_EXCEEDED: "rank 3 did not <what> within 30 s".
  Status WaitForNone(const std::vector<int>& counts, const std::string& what) WEFT_REQUIRES(mutex_);

  // Constant after construction.
  const Options options_;
  const Topology topology_;
  const int rank_;
  AdpsgdModel& model_;
  PeerExchange& exchange_;
  Clock& clock_;
  const std::function<void(const std::string&)> count_;
  const std::shared_ptr<EventQueue<Event>> events_;

  // The exchanger's thread's own.
  std::vector<Neighbour> neighbours_;
  std::vector<Floats> free_;
  std::optional<int> current_;  // the neighbour whose exchange is not over and not past its time-out

  Mutex mutex_;
  CondVar changed_;
  bool accepting_ WEFT_GUARDED_BY(mutex_) = true;
  bool under_way_ WEFT_GUARDED_BY(mutex_) = false;      // an Initiate that has not ended, nor passed its time-out
  std::vector<int> open_ WEFT_GUARDED_BY(mutex_);       // by neighbour: 1: begun here and not ended
  std::vector<int> farewells_ WEFT_GUARDED_BY(mutex_);  // by neighbour: of the two, those that are missing
  std::vector<Averaged> averaged_ WEFT_GUARDED_BY(mutex_);

  std::thread thread_;  // last: it uses all the others
};

}  // namespace weft
