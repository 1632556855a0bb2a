// A worker's side of the strategies without servers, in which the workers exchange models or gradients among
// themselves: AllReduce, LocalSGD, DPSGD, ADPSGD, SGP and Swarm (docs/design/peer-strategies.md, docs/design/swarm.md).
// With one worker nothing is exchanged, whatever the strategy.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "agent/dataplane/data_plane.h"
#include "agent/transport/transport.h"
#include "common/clock.h"
#include "common/math/topology.h"
#include "common/plan/plan.h"
#include "common/status.h"

namespace weft {

struct PeerPlaneOptions {
  std::uint64_t generation = 1;
  std::uint64_t seed = 1;  // of partners, numbers of local steps, dither, random graphs
  // How long to wait for a peer. Synchronous strategies then end the run with DEADLINE_EXCEEDED; asynchronous ones skip
  // the exchange after exchange_timeout and go on.
  Duration peer_timeout = std::chrono::seconds(30);
  Duration exchange_timeout = std::chrono::seconds(1);
  std::optional<Topology> topology;  // Swarm, DPSGD, ADPSGD, SGP: of plan.workers nodes

  // LocalSGD and Swarm take H from plan.period, Swarm its bits from plan.quantization_bits.
  LocalStepsDistribution local_steps_distribution = LocalStepsDistribution::kConstant;
  std::int64_t max_lead = 0;                             // Swarm: iterations ahead of a neighbour; 0: any number
  bool rotation = false;                                 // Swarm's quantizer
  CombineOrder order = CombineOrder::kCombineThenAdapt;  // DPSGD
  int overlap = 1;                                       // SGP's tau

  // SlowMo: LocalSGD and Swarm step every H, DPSGD and SGP every slow_period iterations.
  double slow_momentum = 0;
  double slow_rate = 1;
  int slow_period = 12;
  // The optimizer's rate at a 1-based iteration: the gamma by which SlowMo divides.
  std::function<double(std::int64_t iteration)> learning_rate;
  // Swarm: called on the trainer's thread behind `iteration`, once weights that were not finite have been replaced. The
  // optimizer's state may be as broken, and is to be forgotten; else it would break them again. May be null.
  std::function<void(std::int64_t iteration)> reset_optimizer;
};

// This process is the transport's rank k < plan.workers; all of those ranks make their plane, with the same weights,
// and wait for each other. The transport and the clock (which must run as the steady one does) outlive the plane. A
// plane that is destroyed before Finish has succeeded aborts the transport. INVALID_ARGUMENT: a strategy with servers,
// a topology that is missing or of another size, rates outside their range.
Result<std::unique_ptr<DataPlane>> MakePeerPlane(const PeerPlaneOptions& options, const Plan& plan,
                                                 const ModelView& model, LocalStep local_step, Transport& transport,
                                                 Clock& clock);

}  // namespace weft
