// Ranks as threads of one process, with links that have a rate and with injected faults: for tests, and for benchmarks
// of stalls without a network.
//
// A message's bytes go over the links as fluid (fluid.h); messages of one (sender, receiver, tag) go one after the
// other. It arrives when its last byte has left, plus the sender's latency, plus the injected delay. Its Send ends when
// it arrives, whether or not a Receive is posted; one that is not waited for is buffered. One network thread does it
// all in the order of the times at which things are posted or due, so a late wake-up delays a completion but shifts no
// later one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "agent/transport/fluid.h"
#include "agent/transport/transport.h"
#include "common/mutex.h"

namespace weft {

// Kills a rank, with what it has in flight, when it has sent `fraction` of its message number `message` (from 1, in the
// order of its Sends; those of one tag wait for each other). 0: as it starts. 1: when it has arrived.
struct InjectedDeath {
  int rank = 0;
  std::int64_t message = 1;
  double fraction = 0.5;
};

struct LoopbackOptions {
  std::vector<LinkModel> links{};  // by rank; empty: all unlimited; one: the same for all
  std::uint64_t seed = 1;
  // Each message arrives up to this much later, uniformly, drawn from (seed, sender, receiver, tag, how many before
  // it): messages with different tags overtake each other.
  Duration max_delay{};
  std::vector<InjectedDeath> deaths{};
  // Each message of these kinds is lost with this probability, drawn as the delays are.
  double loss_probability = 0;
  std::vector<MessageKind> lossy_kinds{};
};

// All functions may be called from any thread, those marked "waits" not from a completion.
class LoopbackNetwork {
 public:
  explicit LoopbackNetwork(int world_size, LoopbackOptions options = {});
  // Waits. What is still in flight ends with CANCELLED.
  ~LoopbackNetwork();
  LoopbackNetwork(const LoopbackNetwork&) = delete;
  LoopbackNetwork& operator=(const LoopbackNetwork&) = delete;

  // Lives as long as the network.
  Transport& endpoint(int rank);

  // The rank is dead: every operation with it or by it, in flight or later, ends with UNAVAILABLE.
  void Kill(int rank);
  // Messages to and from it vanish: an operation with it or by it, in flight or later, ends by Abort or Kill only (but
  // what arrived before can still be received).
  void Cut(int rank);

  // The next message of this kind that `from` sends to `to` is lost: it takes its time on the links and never arrives,
  // and its Send ends with UNAVAILABLE "... was lost" when its last byte has left. Those after it are not held up.
  void LoseNext(int from, int to, MessageKind kind);

  RankStatistics statistics(int rank);  // waits
  void ResetStatistics();               // waits

 private:
  class Endpoint;
  struct Message;
  struct PostedReceive {
    std::span<std::byte> data;
    Completion done;
  };
  // The messages of one (sender, receiver, tag). in_flight[i] belongs to receives[i]; `arrived` and `receives` are
  // never both filled.
  struct Channel {
    int from = 0;
    int to = 0;
    Tag tag;
    std::deque<std::unique_ptr<Message>> in_flight{};
    std::size_t left = 0;  // the first ones of in_flight that have left the sender whole
    std::deque<std::unique_ptr<Message>> arrived{};
    std::deque<PostedReceive> receives{};
    std::vector<std::unique_ptr<Message>> lost{};  // by a cut
    std::int64_t sent = 0;                         // and have left, lost ones not counted
    std::int64_t posted = 0;                       // by Send
    TimePoint last_arrival{};
  };
  struct Arrival {
    TimePoint time;
    std::int64_t order = 0;  // of their making, for equal times
    std::int64_t message_id = 0;
    Channel* channel = nullptr;
    bool operator>(const Arrival& other) const { return std::tie(time, order) > std::tie(other.time, other.order); }
  };
  struct Command {
    TimePoint time;
    std::function<void()> run;  // on the network thread
  };

  void Post(std::function<void()> run) WEFT_EXCLUDES(mutex_);
  void PostAndWait(std::function<void()> run) WEFT_EXCLUDES(mutex_);

  // Everything below runs on the network thread.
  void Run();
  void AdvanceTo(TimePoint time);
  bool CopyChunk();
  void ApplySend(int from, int to, Tag tag, std::span<const std::byte> data, Completion done);
  void ApplyReceive(int from, int to, Tag tag, std::span<std::byte> data, Completion done);
  void ApplyAbort(int rank, const Status& cause);
  void ApplyKill(int rank);
  void ApplyCut(int rank);
  Channel& channel(int from, int to, Tag tag);
  void StartNext(Channel& channel);
  void Left(Channel& channel);
  bool IsLost(Channel& channel);
  void Arrive(Channel& channel);
  void Deliver(Message& message, PostedReceive& receive);
  Status RefusalOf(int rank, int peer) const;

  const int world_size_;
  const LoopbackOptions options_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;

  Mutex mutex_;
  CondVar posted_;
  std::vector<Command> commands_ WEFT_GUARDED_BY(mutex_);  // times do not decrease
  bool stopping_ WEFT_GUARDED_BY(mutex_) = false;

  // The network thread's own.
  TimePoint now_;
  FluidNetwork fluid_;
  std::map<std::tuple<int, int, int>, Channel> channels_;
  std::map<std::int64_t, Channel*> on_the_wire_;  // by message id
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
  std::int64_t next_id_ = 0;
  std::vector<std::int64_t> sent_;                                  // by rank
  std::map<std::tuple<int, int, MessageKind>, int> losses_wanted_;  // by LoseNext
  std::vector<Status> aborted_;                                     // by rank; OK: not
  std::vector<bool> dead_;                                          // by rank
  std::vector<bool> cut_;                                           // by rank

  std::thread thread_;  // last: it uses all the others
};

}  // namespace weft
