// What the strategies without servers put on the wire. The data planes' headers state the same formulas, and tests
// count both on the loopback.
#pragma once

#include <cstdint>
#include <vector>

#include "common/plan/plan.h"
#include "coordinator/planner/planner.h"

namespace weft {

// How many of SGP's messages meet at the busiest worker's port, in the mean over iterations t, when each worker sends
// as common/math/push_sum.h says. Two workers or more.
double PushesMet(const PlanRequest& request);

// [k]: how likely k others have drawn the same partner as a worker that has drawn one, each among its neighbours. Two
// workers or more.
std::vector<double> MeetingOdds(StrategyType strategy, const PlanRequest& request);

// One exchange of one worker: what it sends and receives, replies to others' requests included, in the mean over
// workers. Payloads only: a few words of headers a message are left out where a model is sent as floats.
struct Traffic {
  double sent_bytes = 0;
  double received_bytes = 0;
};

// Neighbours in the overlay graph that the strategy uses; of AllReduce and LocalSGD, the ring's one.
struct Degrees {
  double mean = 0;
  int most = 0;
};
// By worker; complete where no graph is given for Swarm, and a ring for the others.
std::vector<std::vector<int>> NeighboursOf(StrategyType strategy, const PlanRequest& request);

Degrees DegreesOf(StrategyType strategy, const PlanRequest& request);

// b bytes of a group or model, P workers, d neighbours in the mean:
//   LocalSGD             2 b (P-1)/P      the ring: reduce-scatter, then all-gather, 2 (P-1) messages of b/P
//   AllReduce            the same of b + 4: a bucket carries its workers' samples
//   DPSGD                b d              the model to each neighbour
//   SGP                  b + 4                the model to one neighbour
//   ADPSGD               2 b + 4          each starts one exchange and answers one: a model each way
//   Swarm                r + (1 + k) D    each reads one register's prefix with the k deltas that wait there and is
//                                         read once, and sends one delta; k is 0 in lockstep, up to 1
Traffic TrafficOf(StrategyType strategy, const PlanRequest& request, std::int64_t bytes);

inline constexpr double kPendingDeltas = 0.5;  // k
inline constexpr int kSwarmRoundTrips = 5;
// The part of a round in which its interaction begins, at a random time.
inline constexpr double kSwarmWindow = 0.75;

// Swarm's r and D for so many floats, headers included: docs/format/quantizer.md, docs/format/swarm-registers.md.
// Further digits, which a reader takes where a block does not decode, are not counted.
double RegisterReadBytes(std::int64_t floats, int bits);
double CellBytes(std::int64_t floats, int bits);

}  // namespace weft
