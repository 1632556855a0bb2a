// Plays a plan event by event: workers and servers, the links between them, uneven compute. The cost models give the
// same figures for even workers in closed form; this answers what-ifs and is held against measured runs.
//
// The network: every rank has one full-duplex port as fast as the fastest of its links; what moves through a port in
// one direction at a time shares it evenly. A transfer takes its link's latency and then moves.
//
// InterleavedPS: a worker asks at its slot's start. With admission a server serves one worker at a time, in the order
// in which requests arrive; a request that finds it idle costs a round trip (request and grant), one that waits has its
// grant sent ahead. Push and reply move together, one in each direction. A request for a round waits until the round
// before is committed (all workers pushed): the staleness bound. Deadline: the group's next forward waits for the pull;
// Late: its next step does. Slots count from the worker's own start of the iteration.
//
// MergedPS, BulkSynchronousPS: a worker pushes a group when its gradient is ready; when all have, the server replies to
// all; the group's next forward waits. Groups that are under way together share the ports.
//
// AllReduce, LocalSGD: a bucket's ring begins when all workers have it ready and the ring before it has ended, and
// takes what RingCost says on the worst link; the group's next forward waits.
//
// DPSGD: CombineThenAdapt: a worker sends its model to all neighbours as the iteration starts, and waits at its end for
// theirs. AdaptThenCombine: a bucket goes to all neighbours when it is stepped and the one before it has left; its next
// forward waits for theirs. SGP: behind its step a worker sends to one neighbour; `overlap` iterations later it waits
// until that is there, and for what was sent to it.
//
// ADPSGD: as an iteration starts, a worker draws a neighbour and exchanges models with it: a header there, then the
// model there, then the neighbour's back. At the iteration's end it waits for that. Swarm: at a random time in the
// first three quarters of its H iterations a worker reads its partner's register and then appends its delta, in round
// trips of one message each, again where another delta came between; at their end it waits for that. An averaging that
// has taken exchange_timeout is waited for no longer, and that partner is not drawn before it has ended. Nobody waits
// for what another computes. What the exchangers' threads do beside compute lengthens averagings, and iterations only
// where these are waited for.
#pragma once

#include <cstdint>
#include <vector>

#include "common/plan/plan.h"
#include "common/status.h"
#include "coordinator/planner/planner.h"

namespace weft {

struct SimulationOptions {
  double compute_jitter = 0;     // standard deviation of an iteration's compute, as a share of it
  std::uint64_t seed = 1;        // of the jitter and of partners
  std::vector<double> slowdown;  // by worker: its compute takes so many times as long; empty: 1 for all
  int iterations = 0;            // measured ones, after as many periods to settle; 0: enough for a steady figure
};

struct SimulationResult {
  double iteration_us = 0;             // mean over workers and iterations
  double compute_us = 0;               // the timeline's, of a worker without slowdown
  double stall_us = 0;                 // mean of an iteration's waiting
  std::vector<double> group_stall_us;  // by group: the longest a worker waited for it in one iteration
  double link_use = 0;  // share of time for which the busiest port is busy: a server's, or a worker's without servers
  double concurrent_share = 0;       // share of time with more than one transfer moving in one direction there
  double peak_bytes_per_second = 0;  // at any of these ports, one direction, over windows of 10 ms
  double bytes_per_iteration = 0;    // that all workers send
  std::vector<double> sent_bytes;    // mean of an iteration, by rank: workers, then servers
  double staleness_wait_us = 0;      // InterleavedPS: mean of an iteration's waiting of requests for the round before
  double missed_share = 0;           // ADPSGD, Swarm: of the averagings that were due, those given up or not begun
};

// The plan must be one that MakePlan made for this request. Deterministic. INVALID_ARGUMENT: links that MakePlan would
// refuse, or more transfers at a time than can be played.
Result<SimulationResult> Simulate(const Plan& plan, const PlanRequest& request, const SimulationOptions& options);

}  // namespace weft
