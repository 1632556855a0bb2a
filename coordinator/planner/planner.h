// Makes the Plan: what is sent when. Timeline and links in; groups, phases, windows, slots and shards out, with what
// they are predicted to cost and one sentence of reason. A pure function. docs/design/planner.md explains the choices.
#pragma once

#include <vector>

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

struct PlanRequest {
  StrategyType strategy = StrategyType::kInterleavedPS;  // Auto stands for InterleavedPS
  PlanOptions options;
  Timeline timeline;
  std::vector<std::vector<Link>> links;  // [worker][server]; a single [0][0] for every pair
  int workers = 1;
  int servers = 1;
};

// MergedPS and BulkSynchronousPS have period 1 and no slots: a group's window runs from its gradient to its last reply.
// MergedPS takes the fusion of the options, BulkSynchronousPS has a group a layer.
//
// INVALID_ARGUMENT: workers outside 1..4096, servers outside 1..1024, a period outside 0..1,000,000, no layer with
// parameters, compute that takes no time, links of another shape or with values that are negative or not finite.
// UNIMPLEMENTED: a strategy that has no parameter server.
Result<Plan> MakePlan(const PlanRequest& request);

}  // namespace weft
