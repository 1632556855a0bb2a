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
  int period = 0;  // T; 0: the smallest T <= most_period whose stall and link use stay within the limits above
  int most_period = kMaxChosenPeriod;
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
  double exchange_timeout_us = 1e6;                      // of ADPSGD and Swarm: then an averaging is given up
  // The overlay graphs, each of `workers` nodes. None: the job's defaults, Complete and Ring.
  std::optional<Topology> swarm_topology;
  std::optional<Topology> gossip_topology;  // of DPSGD, ADPSGD, SGP
};

struct PlanRequest {
  StrategyType strategy = StrategyType::kInterleavedPS;
  PlanOptions options;
  PeerOptions peers;
  int max_staleness = 8;  // Auto: no plan of more is taken, see Staleness
  Timeline timeline;
  // [worker][server]; a single [0][0] for every pair. Strategies without servers don't look at them.
  std::vector<std::vector<Link>> links;
  // By worker: its link to the next one; a single one for all. Strategies with servers don't look at them.
  std::vector<Link> peer_links;
  int workers = 1;
  int servers = 1;  // at least 0; where servers are not used those that there are stay idle
};

// How many iterations lie between two exchanges of the same weight: 0 for AllReduce, MergedPS and BulkSynchronousPS,
// whose workers all step with one gradient; T of InterleavedPS; H of LocalSGD and Swarm (infinite where Swarm gives
// up all interactions, since they take longer than exchange_timeout); 1 for DPSGD and ADPSGD; SGP's overlap, at
// least 1.
double Staleness(const Plan& plan, const PlanRequest& request);

// MergedPS and BulkSynchronousPS have period 1 and no slots: a group's window runs from its gradient to its last reply.
// MergedPS takes the fusion of the options, BulkSynchronousPS has a group a layer. AllReduce, LocalSGD and DPSGD in its
// order AdaptThenCombine have a group a bucket, fused by what a bucket's exchange costs; the others without servers
// have one group. None of them has slots or shards.
//
// Auto: the plan with the shortest predicted iteration (all do as much of an epoch in one) whose staleness is at most
// max_staleness, of MergedPS, InterleavedPS with the T that is asked for or chosen, AllReduce, DPSGD, SGP, and LocalSGD
// and Swarm with H = 2, 4, 8 … (Swarm also 1). Of those within 2 % of the shortest the least stale is taken, and of
// equals the first in this order: AllReduce, MergedPS, LocalSGD, InterleavedPS, Swarm, DPSGD, SGP. Those with servers
// need a server and `links`, the others `peer_links`. The plan's strategy is the one taken, its reason says why, and
// what the best of another strategy would have cost.
//
// INVALID_ARGUMENT: workers outside 1..4096, servers outside 0..1024 or 0 for a strategy that needs one, a period
// outside 0..1,000,000, local steps outside 1..1,000,000, a staleness below 1, bits that are none of 0, 2..16, no layer
// with parameters, compute that takes no time, a topology of another size, links of another shape or with values that
// are negative or not finite; Auto without any links.
Result<Plan> MakePlan(const PlanRequest& request);

}  // namespace weft
