// The Plan: what is sent when. The planner (coordinator/planner) makes it from a Timeline and the Links; the data plane
// (agent/dataplane) runs it. Values only. Times are microseconds from the start of backward, sizes are bytes.
//
// Groups are runs of consecutive layers, numbered in backward order from 0: group 0 holds the output side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

enum class StrategyType {
  kAuto,
  kInterleavedPS,
  kMergedPS,
  kBulkSynchronousPS,
  kSwarm,
  kAllReduce,
  kLocalSGD,
  kDPSGD,
  kADPSGD,
  kSGP,
};

// Which consecutive layers are sent as one. Balanced is the planner's own for InterleavedPS: runs of nearly equal
// bytes, so that each of the T phases carries nearly the same.
enum class Fusion { kPerLayer, kMGWFBP, kOptimal, kBalanced };

// When group i synchronizes, t the 1-based iteration: (t + i) mod T = 0, or i mod T = t mod T.
enum class PhaseRule { kFigure, kFormula };

// Where a group's window lies: after its gradients (the paper's), or anywhere in the iteration (a push carries weights
// from before the step and depends on no gradient).
enum class WindowRule { kAfterBackward, kWholeIteration };

// What stands for the forward time behind `end` in Algorithm 1: half of what is left of backward (the paper's), or the
// measured forward times.
enum class Tail { kHalf, kMeasured };

// When a pulled centre is applied: before the group's next forward, or at its next step.
enum class Apply { kDeadline, kLate };

// Swarm's H: the number of local steps, or the mean of a geometric one on {1, 2, ...}.
enum class LocalStepsDistribution { kConstant, kGeometric };

// D-PSGD: x_i <- sum_j W_ij x_j - rate g_i as in its paper, or x_i <- sum_j W_ij (x_j - rate g_j).
enum class CombineOrder { kCombineThenAdapt, kAdaptThenCombine };

// True for the strategies whose workers exchange through parameter servers; Auto is none of them.
constexpr bool UsesParameterServers(StrategyType strategy) {
  return strategy == StrategyType::kInterleavedPS || strategy == StrategyType::kMergedPS ||
         strategy == StrategyType::kBulkSynchronousPS;
}

struct LayerTiming {
  std::string name;
  std::int64_t bytes = 0;  // parameters of this layer, float32; 0 for none, and for tied weights
  double forward_us = 0;
  double backward_us = 0;
  double backward_start_us = 0;  // tau_b(l)
};

struct Timeline {
  std::vector<LayerTiming> layers;  // in forward order
  double optimizer_us = 0;          // the local step of all layers together
  double end_us = 0;                // end of backward

  double forward_us() const {
    double sum = 0;
    for (const LayerTiming& layer : layers) sum += layer.forward_us;
    return sum;
  }
  // One iteration of compute alone: forward, backward, local step.
  double compute_us() const { return forward_us() + end_us + optimizer_us; }
  std::int64_t total_bytes() const {
    std::int64_t sum = 0;
    for (const LayerTiming& layer : layers) sum += layer.bytes;
    return sum;
  }
};

// t(b) = latency_us + b * us_per_byte: the design's alpha and beta of a link.
struct Link {
  double latency_us = 0;
  double us_per_byte = 0;
};

// A part of a group that one server keeps. Offsets count floats of the model's flat weight vector.
struct Shard {
  int group = 0;
  int server = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

struct PlanGroup {
  int index = 0;
  int phase = 0;        // the t mod T at which it synchronizes
  int first_layer = 0;  // forward indices, both included
  int last_layer = 0;
  std::vector<std::string> layers;  // in backward order
  std::int64_t bytes = 0;
  double window_from_us = 0;  // may be negative: before the start of backward
  double window_to_us = 0;
  double slot_us = 0;      // worker p owns [from + q*slot, from + (q+1)*slot), q = SlotOf(p, round, server, …)
  double transfer_us = 0;  // one worker, one direction; AllReduce: the whole ring
  double stall_us = 0;     // predicted, of the worst worker in that iteration
};

struct Plan {
  StrategyType strategy = StrategyType::kInterleavedPS;
  int workers = 1;
  int servers = 1;  // 0 or more without parameter servers: those that the job has are idle
  // T of InterleavedPS; H, the local steps between two exchanges, of Swarm and LocalSGD; else 1.
  int period = 1;
  int quantization_bits = 0;  // Swarm: 2..16; 0: float32
  Fusion fusion = Fusion::kOptimal;
  PhaseRule phase = PhaseRule::kFigure;
  WindowRule window = WindowRule::kWholeIteration;
  Tail tail = Tail::kMeasured;
  double forward_us = 0;  // from the start of an iteration to the start of backward
  double compute_us = 0;
  double iteration_us = 0;        // compute plus the mean stall over T iterations
  double link_use = 0;            // predicted share of time for which the busiest link is busy, 0 to 1
  double wire_bytes = 0;          // predicted mean per iteration that a worker sends, replies to others included
  std::vector<PlanGroup> groups;  // by index
  std::vector<Shard> shards;      // every group's floats exactly once; none without parameter servers
  std::string reason;             // one sentence: why this T, and whether distributing pays
  // Of a plan that took the place of another one during a run: the 1-based iteration from which it holds, and why.
  std::int64_t from_iteration = 1;
  std::string cause;  // empty: the first
};

// True when the group with this index synchronizes in 1-based iteration t. Every group does exactly once in any T.
bool Synchronizes(PhaseRule rule, int period, int group, std::int64_t iteration);

// The phase of a group: the t mod T at which it synchronizes.
int PhaseOf(PhaseRule rule, int period, int group);

// The phase of a group of this plan: with InterleavedPS as above, else 0, since all groups are sent in one iteration.
int GroupPhase(const Plan& plan, int group);

// The place of a worker in the order in which a server serves a round. On server 0 worker (q + round) mod P has place
// q, so that no worker is always last; each further server is P/S places ahead, so that a worker does not send to two
// servers at once.
int SlotOf(int worker, std::int64_t round, int server, int workers, int servers);

// How many floats a layer of so many bytes takes in the flat weight vector.
inline std::int64_t FloatsOf(std::int64_t bytes) { return (bytes + 3) / 4; }

// How often the group has synchronized in iterations 1..iteration: the number of the round that comes next, from 0.
std::int64_t RoundsThrough(PhaseRule rule, int period, int group, std::int64_t iteration);

}  // namespace weft
