// Makes the Plan: what is sent when. Timeline and links in; groups, phases, windows, slots and shards out, with what
// they are predicted to cost and one sentence of reason. A pure function. docs/design/planner.md explains the choices.
#pragma once

#include <optional>
#include <vector>

#include "common/math/topology.h"
#include "common/plan/plan.h"
#include "common/status.h"
#include "coordinator/planner/links.h"

namespace weft {

inline constexpr int kMaxChosenPeriod = 32;
inline constexpr double kMaxStallShare = 0.02;  // of compute
inline constexpr double kMaxLinkUse = 0.90;

struct PlanOptions {
  int period = 0;  // T; 0: the smallest T <= 32 whose stall and link use stay within the limits above
  Fusion fusion = Fusion::kOptimal;
  // False: `Optimal` stands for the best that the planner finds for InterleavedPS, Balanced runs included. The
  // recurrence of Fusion::kOptimal knows nothing of periods: on a slow link it makes few large groups, and then one
  // phase carries nearly all. True: exactly that fusion.
  bool exact_fusion = false;
  PhaseRule phase = PhaseRule::kFigure;
  WindowRule window = WindowRule::kWholeIteration;
  Tail tail = Tail::kMeasured;
  Apply apply = Apply::kDeadline;
  bool admission = true;  // servers admit one worker at a time: costs a request and a grant
};

// What the strategies without servers take from the job.
struct PeerOptions {
  int local_steps = 4;                                   // H of Swarm and LocalSGD
  int quantization_bits = 8;                             // of Swarm: 2..16, 0: off
  CombineOrder order = CombineOrder::kCombineThenAdapt;  // of DPSGD
  int overlap = 1;                                       // of SGP
  // The overlay graphs, each of `workers` nodes. None: the job's defaults, Complete and Ring.
  std::optional<Topology> swarm_topology;
  std::optional<Topology> gossip_topology;  // of DPSGD, ADPSGD, SGP
};

struct PlanRequest {
  StrategyType strategy = StrategyType::kInterleavedPS;
  PlanOptions options;
  PeerOptions peers;
  int max_staleness = 8;  // Auto: in iterations, how old what a worker takes in may be
  Timeline timeline;
  // [worker][server]; a single [0][0] for every pair. Strategies without servers don't look at them.
  std::vector<std::vector<Link>> links;
  // By worker: its link to the next one; a single one for all. Strategies with servers don't look at them.
  std::vector<Link> peer_links;
  int workers = 1;
  int servers = 1;  // at least 0; where servers are not used those that there are stay idle
};

// Auto stands for InterleavedPS. MergedPS and BulkSynchronousPS have period 1 and no slots: a group's window runs from
// its gradient to its last reply. MergedPS takes the fusion of the options, BulkSynchronousPS has a group a layer.
// AllReduce has a group a bucket, fused by what a bucket costs on the ring; the others without servers have one group.
// None of them has slots or shards.
//
// INVALID_ARGUMENT: workers outside 1..4096, servers outside 0..1024 or 0 for a strategy that needs one, a period
// outside 0..1,000,000, local steps outside 1..1,000,000, bits that are none of 0, 2..16, no layer with parameters,
// compute that takes no time, a topology of another size, links of another shape or with values that are negative or
// not finite.
Result<Plan> MakePlan(const PlanRequest& request);

}  // namespace weft
