// The thread of a SwarmSGD node: it publishes, folds and interacts (swarm_node.h) beside the local steps, so that only
// one pass over the weights stands outside of compute, and nobody waits for anybody.
//
// Trainer and thread hand each other whole vectors, under a lock that is held for no longer than that takes: at the end
// of each round of local steps the trainer adds the change that the thread has completed (if it is there: a change that
// is still being worked on comes with the next round) and leaves a copy of its weights. Before that it waits until the
// interaction of the weights that it left before has ended, so that there is one to each round: where rounds are
// shorter than an interaction takes, the models would else drift apart. That is a wait for the own thread, which does
// not wait for what a partner does, and gives up one that does not answer at the interaction's deadline. The mass of a
// node is the weights, plus the change that they do not hold yet, plus the deltas that wait in its queue.
//
// Per round the thread takes the weights, folds, publishes; at a random time within the round it interacts with one
// partner and publishes again, so that the others see what it has given away. Without that random time nodes whose
// rounds take equally long would average in lockstep, and two that draw each other at once would not average but swap.
// Between these it looks at its queue, and folds and publishes when the queue is half full: so a node of long rounds is
// changed by the others as often as any, and its queue is not full.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "agent/dataplane/swarm_node.h"
#include "agent/transport/registers.h"
#include "common/clock.h"
#include "common/math/topology.h"
#include "common/mutex.h"
#include "common/status.h"

namespace weft {

struct SwarmExchangerOptions {
  SwarmNodeOptions node;
  Topology topology;
  std::uint64_t seed = 1;  // of partners and of the times of interactions
  std::uint64_t first_key = 0;
};

class SwarmExchanger {
 public:
  // The registers and the clock outlive it.
  SwarmExchanger(SwarmExchangerOptions options, std::span<const float> weights, Registers& registers, Clock& clock);
  // Stops without waiting for what is under way.
  ~SwarmExchanger();
  SwarmExchanger(const SwarmExchanger&) = delete;
  SwarmExchanger& operator=(const SwarmExchanger&) = delete;

  // ---- the trainer's thread
  // What others have changed since the last call, to be added to the weights; none: nothing, or not complete. In
  // `restored`: weights to go on with instead of one's own, which were not finite (the change is on top of them).
  struct Changes {
    std::optional<std::vector<float>> restored;
    std::optional<std::vector<float>> change;
  };
  Changes TakeChanges() WEFT_EXCLUDES(mutex_);
  bool has_restored() const WEFT_EXCLUDES(mutex_);
  // Returns when the interaction of the weights that were left last has ended, however it did, and at the deadline. One
  // that has not begun begins at once.
  void AwaitInteraction(TimePoint deadline) WEFT_EXCLUDES(mutex_);
  // A buffer for LeaveWeights, of the weights' size.
  std::vector<float> TakeBuffer() WEFT_EXCLUDES(mutex_);
  // The end of a round: `weights` is a copy of the weights with all changes that were taken; `spent` are the buffers of
  // those.
  void LeaveWeights(std::vector<float> weights, Changes spent) WEFT_EXCLUDES(mutex_);

  // Starts no more interactions and returns when none is under way; the node is then the caller's until Resume.
  // DEADLINE_EXCEEDED: names the ranks with whom one is.
  Status Park(TimePoint deadline) WEFT_EXCLUDES(mutex_);
  SwarmNode& node() { return node_; }
  void Resume() WEFT_EXCLUDES(mutex_);

  std::uint64_t draws() const { return draws_; }           // while parked
  void SkipDraws(std::uint64_t draws) { draws_ = draws; }  // while parked
  SwarmCounts counts() const { return node_.counts(); }    // any thread
  Status failure() const WEFT_EXCLUDES(mutex_);            // any thread. CANCELLED: the transport was aborted
  std::vector<SwarmExchange> TakeExchanges() WEFT_EXCLUDES(mutex_);

 private:
  void Run();
  // False: to stop.
  bool AwaitTurn() WEFT_EXCLUDES(mutex_);
  void Work();
  void TakeWeights(const std::vector<float>& weights);
  void Recover() WEFT_EXCLUDES(mutex_);
  void StartInteraction();
  bool InVain(InteractionEnd end) const;
  void FoldAndPublish();
  void EndTurn() WEFT_EXCLUDES(mutex_);
  TimePoint NextTurn();

  // Constant after construction.
  const SwarmExchangerOptions options_;
  Clock& clock_;
  const std::shared_ptr<SwarmWaker> waker_;

  // The thread's own; the trainer's while parked.
  SwarmNode node_;
  std::optional<std::vector<float>> weights_;  // taken in this turn
  bool restoring_ = false;                     // they are of before weights that the trainer shall restore
  bool parking_ = false;
  bool hurrying_ = false;
  std::uint64_t draws_ = 0;
  std::optional<TimePoint> interaction_at_;
  int retries_ = 0;  // of this round's interaction
  TimePoint round_start_{};
  TimePoint round_end_{};
  Duration poll_interval_{};

  mutable Mutex mutex_;
  CondVar parked_changed_;
  CondVar settled_changed_;
  std::optional<std::vector<float>> left_weights_ WEFT_GUARDED_BY(mutex_);
  TimePoint left_at_ WEFT_GUARDED_BY(mutex_){};
  Changes offered_ WEFT_GUARDED_BY(mutex_);
  std::vector<float> free_weights_ WEFT_GUARDED_BY(mutex_);
  std::vector<float> spent_change_ WEFT_GUARDED_BY(mutex_);
  std::vector<int> unsettled_ WEFT_GUARDED_BY(mutex_);
  std::vector<SwarmExchange> exchanges_ WEFT_GUARDED_BY(mutex_);
  Status failure_ WEFT_GUARDED_BY(mutex_);
  bool park_wanted_ WEFT_GUARDED_BY(mutex_) = false;
  bool parked_ WEFT_GUARDED_BY(mutex_) = false;
  bool hurry_wanted_ WEFT_GUARDED_BY(mutex_) = false;
  bool settled_ WEFT_GUARDED_BY(mutex_) = true;  // no interaction is due or under way, no weights wait to be taken
  bool stopping_ WEFT_GUARDED_BY(mutex_) = false;

  std::thread thread_;  // last: it uses all the others
};

}  // namespace weft
