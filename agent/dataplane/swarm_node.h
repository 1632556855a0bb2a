// One node of SwarmSGD (section 4 of the design; the paper's Algorithm 2, non-blocking): its model X_i without the
// local steps under way, its registers, and its exchanges with partners. No thread of its own and no waiting: what is
// under way is looked at by Poll, so that a partner that stands still keeps this node from nothing.
//
// An interaction of i with j, X_i being i's model to full precision:
//   X_j <- j's publication, decoded with key X_i, and the deltas that wait in j's queue
//   X_i <- X_i + the deltas that wait in i's own queue
//   D   <- lattice((X_i - X_j)/2), key 0; appended to j's queue
//   X_i <- X_i - the decoded D, once the append counts
// When another node appends to either queue between the read and the claim of a cell, D would rest on a model that is
// no more: seven that write to one at once would each give it half of their distance, and throw it 3.5 times as far to
// the other side; and two that write to each other would swap. Such an interaction gives its cell back and begins again
// after a random time. So those of one node happen one after the other, as in the paper's sequence.
//
// So what i loses j gains: the sum over all nodes of X_i and of the deltas that wait is n X_0 plus all
// displacements, to float rounding.
//
// Messages and bytes of an interaction on the wire, k deltas waiting at j, nothing
// torn and no conflict: 5 + k operations: 128 bytes of header, head bytes of a slot and k cells read; a fetch (8 bytes
// each way), one cell put, a fetch. With b bits and d floats head and cell are d b/8 bytes each and 8 and 4 a block of
// 4096, and at most 88 more. A block that needs further digits costs its bytes again and at most one read a level.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/quantizer.h"
#include "agent/dataplane/swarm_layout.h"
#include "agent/dataplane/swarm_operation.h"
#include "agent/dataplane/swarm_queue.h"
#include "agent/dataplane/swarm_register.h"
#include "agent/transport/registers.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/status.h"

namespace weft {

struct SwarmNodeOptions {
  int rank = 0;
  int ranks = 1;
  QuantizerOptions quantizer;
  Duration exchange_timeout = std::chrono::seconds(1);  // of one interaction
  Duration claim_timeout = std::chrono::seconds(1);     // of a cell that is claimed without a delta
  // False: ignore the deltas that wait in a partner's queue, to show what that does. The model then diverges.
  bool read_pending = true;
};

enum class InteractionEnd { kAveraged, kQueueFull, kBusy, kTimeout, kTorn, kNotFinite, kPeerDead };
inline constexpr int kInteractionEnds = 7;
const char* Name(InteractionEnd end);

struct SwarmCounts {
  std::array<std::int64_t, kInteractionEnds> interactions{};
  std::int64_t appended = 0;  // deltas that count in a partner's queue
  std::int64_t folded = 0;    // of the own queue
  std::int64_t refused = 0;   // deltas that are broken; each counts as an interaction that is not finite, too
  std::int64_t closed_cells = 0;
  std::int64_t conflicts = 0;  // interactions that began again, each time
  std::int64_t publications = 0;
  std::int64_t torn_reads = 0;  // also those that a retry repaired; none is used
  std::int64_t further_digit_blocks = 0;
  std::int64_t raw_blocks = 0;
  std::int64_t largest_staleness = 0;
  double quantizer_distance = 0;
  SwarmTraffic traffic;
};

// An interaction that has ended, for the records.
struct SwarmExchange {
  int partner = 0;
  InteractionEnd end = InteractionEnd::kAveraged;
  TimePoint start{};
  TimePoint read{};  // the partner's model was there
  TimePoint finish{};
  SwarmTraffic traffic;
};

// One thread at a time calls, except counts().
class SwarmNode {
 public:
  static std::size_t RegisterBytes(const QuantizerOptions& options, std::size_t count);

  // X_i = model. Publishes nothing yet.
  SwarmNode(const SwarmNodeOptions& options, std::span<const float> model, Registers& registers,
            std::shared_ptr<SwarmWaker> waker, Clock& clock);

  std::span<const float> model() const { return model_; }  // X_i

  // ---- the model's changes by others: deltas folded and own ones subtracted, until ReleaseChange
  bool changed() const { return changed_; }
  // Gives away the sum of the changes since the last call, to be added to the weights that are trained.
  std::vector<float> ReleaseChange();
  // What was released is not used (yet): goes on with it. Requires that nothing has changed since.
  void AdoptChange(std::vector<float> change);
  // A buffer to use again.
  void GiveBuffer(std::vector<float> buffer) { spare_ = std::move(buffer); }

  // ---- local steps
  void AddDisplacement(std::span<const float> displacement);
  // X_i = weights + the changes not yet released, where `weights` holds all released ones. False: a weight is not
  // finite; X_i is then as before.
  bool Rebase(std::span<const float> weights);

  // ---- own registers
  // Makes X_i what the others see, and frees the cells that are folded. INVALID_ARGUMENT: X_i is not finite.
  Status Publish();
  int waiting() const { return queue_.ready(); }
  // Adds all deltas that wait to X_i. Returns how many.
  int Fold();

  // ---- interactions
  // False: an earlier one with this partner is still under way, or it is lost.
  bool Available(int partner) const { return !Busy(partner) && !Lost(partner); }
  bool Busy(int partner) const;
  bool Lost(int partner) const;  // it was gone, several times in a row
  // Counts an interaction that did not begin, since the partner is not available.
  void CountBusy();
  // Requires that it is available and that none is active.
  void Start(int partner);
  bool active() const { return active_ != nullptr; }
  // Goes on with what is under way, and gives up the active interaction when its time is over.
  void Poll();
  // When to call Poll next, if no operation ends before.
  std::optional<TimePoint> deadline() const;
  InteractionEnd last_end() const { return last_end_; }  // of the last interaction that has ended
  // Start and Poll until it has ended, waiting.
  InteractionEnd Interact(int partner);
  // Partners with whom something is under way that may still change this model or theirs.
  std::vector<int> Unsettled() const;
  std::vector<SwarmExchange> TakeExchanges() { return std::exchange(exchanges_, {}); }

  // CANCELLED once the transport was aborted.
  const Status& failure() const { return failure_; }
  SwarmCounts counts() const WEFT_EXCLUDES(mutex_);
  void CountNotFinite();

  // Numbers of the dither keys used so far, which must never be used again: a resumed node goes on behind them.
  std::uint64_t next_key() const { return next_key_; }
  void SkipKeys(std::uint64_t next_key) { next_key_ = next_key; }

 private:
  struct Interaction {
    SwarmExchange record;
    TimePoint deadline{};
    bool counted = false;
    int conflicts = 0;
    std::optional<TimePoint> begin_again;  // there is neither a read nor an append then
    std::optional<SwarmRead> read;
    std::optional<SwarmAppend> append;
    std::uint64_t claims = 0;  // of the partner, as read
    std::vector<float> delta;  // decoded
  };

  void EnsureChange();
  void GrowDistance(float displacement);
  void StepActive();
  void StepLingering();
  void TakeRead(Interaction& one);
  void TakeDistances(const SwarmRead& read, int partner);
  void StartAppend(Interaction& one);
  void TakeAppend(Interaction& one);
  void Conflict(Interaction& one);
  void Account(Interaction& one, const SwarmTraffic& traffic);
  void End(Interaction& one, InteractionEnd end);
  void Failed(Interaction& one, const Status& status);
  DitherKey NextKey() { return {.writer = static_cast<std::uint32_t>(options_.rank), .version = next_key_++}; }

  const SwarmNodeOptions options_;
  Clock& clock_;
  Quantizer quantizer_;
  const SwarmLayout layout_;
  const SwarmAccess access_;
  SwarmPublisher publisher_;
  SwarmQueue queue_;
  DistanceTracker tracker_;
  bool distance_known_ = false;  // from a displacement

  std::vector<float> model_;
  std::vector<float> change_;
  bool changed_ = false;  // change_ holds something; else it is undefined
  std::vector<float> spare_;

  std::unique_ptr<Interaction> active_;
  std::vector<std::unique_ptr<Interaction>> lingering_;  // given up, but an operation of theirs has not ended
  std::vector<float> partner_model_;
  std::vector<float> distances_;                // by block, of the active read
  std::vector<float> published_y_max_;          // by block
  std::vector<std::uint32_t> versions_;         // by partner, read last; 0: none
  std::vector<int> failures_;                   // by partner: the times in a row that it was gone
  std::array<bool, kInteractionEnds> named_{};  // ends that a log line has told of already
  std::uint64_t next_key_ = 0;
  std::uint64_t next_delta_ = 0;
  std::vector<SwarmExchange> exchanges_;
  InteractionEnd last_end_ = InteractionEnd::kAveraged;
  Status failure_;

  mutable Mutex mutex_;
  SwarmCounts counts_ WEFT_GUARDED_BY(mutex_);
};

}  // namespace weft
