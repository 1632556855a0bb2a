// A worker's side of a strategy: when gradients or weights are exchanged with others, and when what came back is
// applied. It works on spans of floats and on events, and knows nothing of the model, of Eigen or of MPI.
//
// Per iteration t = 1, 2, … the trainer calls, from one thread:
//   BeginIteration(t)
//   BeforeForward(l)   for each layer in forward order      may wait for a pull (a stall)
//   GradientReady(l)   for each layer in backward order      runs the local step where the strategy takes one here
//   EndIteration()
// Between iterations it may call Drain (nothing in flight, everything pulled so far applied), save or restore state,
// Leave or Finish. Every wait has the deadline of the options; DEADLINE_EXCEEDED and UNAVAILABLE name the rank waited
// for.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/status.h"

namespace weft {

// The floats [first, first + count) of the flat weight and gradient vectors.
struct FloatRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// What a plane needs of a model: its parameters, flat, and each layer's part of them, in forward order. Layers may be
// empty. `weights` and `gradients` have one size and outlive the plane.
struct ModelView {
  std::span<float> weights;
  std::span<float> gradients;
  std::vector<FloatRange> layers;
};

// The optimizer's step on a range: weights there <- LocalStep(weights, gradients), with its own state. Called by the
// plane on the trainer's thread, exactly once per float and iteration. `iteration` is the one whose gradient it is: the
// synchronous strategies step iteration t's gradient in BeforeForward of t + 1, with t's learning rate.
using LocalStep = std::function<void(FloatRange range, std::int64_t iteration)>;

// One transfer of a group (or shard of one), for metrics.jsonl and trace.json. Times are of the worker's clock.
struct TransferRecord {
  int group = 0;
  int server = 0;
  int slot = 0;  // the worker's place in the round's order
  std::int64_t round = 0;
  TimePoint planned_start{};
  TimePoint start{};    // the request left
  TimePoint granted{};  // the transfer began
  TimePoint end{};      // push sent and pull received
  std::int64_t push_bytes = 0;
  std::int64_t pull_bytes = 0;
  Duration staleness_wait{};  // waited for the round before to be committed
  bool overrun = false;       // ended after the slot
};

struct IterationRecord {
  std::int64_t iteration = 0;
  TimePoint start{};
  TimePoint end{};
  Duration stall{};                       // waited in BeforeForward, GradientReady and EndIteration
  std::vector<double> group_stall_us;     // by group, what of it waited for that group
  std::vector<TransferRecord> transfers;  // that ended since the record before
  std::int64_t sent_bytes = 0;            // to other ranks since the record before, what a message's code takes
  std::int64_t received_bytes = 0;
};

// What a plane without servers has exchanged since it was made.
struct ExchangeStatistics {
  // By how they ended: "averaged", "queue_full", "busy" (an earlier one still under way), "timeout", "torn",
  // "not_finite", "lost", "peer_dead".
  std::vector<std::pair<std::string, std::int64_t>> interactions;
  std::int64_t further_digit_blocks = 0;  // whose hash did not match by the low digits
  std::int64_t raw_blocks = 0;            // of those, for which no further digit was enough
  double quantizer_distance = 0;          // the largest max|x - y| of the last interaction
  std::int64_t largest_staleness = 0;     // versions of the partner that were missed in between
  std::string mechanism;                  // of the registers, and why; empty: none are used
  std::string mechanism_reason;
};

// A named tensor of a plane's own state (pending deltas and the like) in a checkpoint.
struct PlaneTensor {
  std::string name;
  std::vector<float> values;
};

class DataPlane {
 public:
  virtual ~DataPlane() = default;

  virtual Status BeginIteration(std::int64_t iteration) = 0;
  virtual Status BeforeForward(int layer) = 0;
  // `samples` is the number of samples in this worker's batch: the weight of its gradient. 0 is allowed: then no local
  // step is taken and the gradients count nothing.
  virtual Status GradientReady(int layer, std::int64_t samples) = 0;
  virtual Result<IterationRecord> EndIteration() = 0;

  // Waits for everything in flight and, where the strategy applies pulls before the next forward, applies it. In planes
  // without servers all workers call it and wait for each other, so that nothing of one is on its way to another.
  virtual Status Drain() = 0;
  // A last synchronization of everything, so that no local step is lost. Nothing but destruction follows.
  virtual Status Finish() = 0;
  // After Drain: takes leave of the others, so that nothing of this plane is on its way any more and a plane of another
  // plan can take its place with SaveState's state. All ranks do so behind the same iteration; nothing but SaveState
  // and destruction follows. FAILED_PRECONDITION: the strategy does not change its plan.
  virtual Status Leave() { return FailedPreconditionError("this strategy does not change its plan during a run"); }

  // False: no worker waits for another's iterations, so that each may be at another one. A pause then finds each at its
  // own, and nothing repeats bit for bit.
  virtual bool synchronous() const { return true; }
  // From any thread.
  virtual ExchangeStatistics Statistics() const { return {}; }

  // True when every worker's weights and optimizer state are the same bits, so that one copy is enough.
  virtual bool replicated() const = 0;

  // State beside weights and optimizer, valid after Drain at the end of `iteration`.
  virtual std::vector<PlaneTensor> SaveState() const = 0;
  // INVALID_ARGUMENT names a tensor that is missing or has another size.
  virtual Status RestoreState(std::int64_t iteration, const std::vector<PlaneTensor>& tensors) = 0;
};

}  // namespace weft
