// A parameter server: keeps the centre of its shards and answers pushes (docs/design/parameter-server.md).
//
// Interleaved: for each shard and round, a worker's request is granted when the round before is committed and the
// server's link is free; its push comes in while the centre of the round before goes out. When all K pushes of the
// round are in, they are summed in the round's slot order and the centre moves on. Synchronous: gradients are summed
// weighted by samples and the mean goes to all.
//
// One thread works (the one in Run); the other functions may be called from any thread while it does.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "agent/dataplane/parameter_server_options.h"
#include "agent/transport/transport.h"
#include "common/clock.h"
#include "common/plan/plan.h"
#include "common/status.h"

namespace weft {

// The centre of some shards, as it was committed at one round. It never changes, and costs no copy.
struct CentreSnapshot {
  std::int64_t iteration = 0;  // that it belongs to; 0: the newest, before the workers' last synchronization
  std::vector<Shard> shards;
  std::vector<std::shared_ptr<const std::vector<float>>> values;  // by shard

  // Writes the shards to their places in the flat weight vector.
  void CopyTo(std::span<float> weights) const;
};

// One direction of a server's link since the start of Run.
struct LinkUse {
  double busy_seconds = 0;           // with at least one transfer
  double concurrent_seconds = 0;     // with more than one
  double peak_bytes_per_second = 0;  // over windows of 10 ms
  int active = 0;                    // transfers under way
  std::int64_t bytes = 0;
  std::int64_t transfers = 0;
};

struct ServerStatistics {
  LinkUse received;
  LinkUse sent;
  std::int64_t staleness_waits = 0;
  double staleness_wait_seconds = 0;
  std::int64_t refused_messages = 0;  // of another generation
};

class ParameterServer {
 public:
  // This process is rank plan.workers + i: server i. `initial_weights` is the whole flat vector. The transport and the
  // clock (which must run as the steady one does) outlive the server.
  // INVALID_ARGUMENT: as ValidateParameterServer, or a rank that is not a server's.
  static Result<std::unique_ptr<ParameterServer>> Make(const ParameterServerOptions& options, const Plan& plan,
                                                       std::span<const float> initial_weights, Transport& transport,
                                                       Clock& clock);
  virtual ~ParameterServer() = default;

  // Before Run: the centre as it was at the end of `iteration`.
  // INVALID_ARGUMENT: `weights` has another size than the initial ones.
  virtual Status RestoreCentre(std::int64_t iteration, std::span<const float> weights) = 0;

  // Before Run: at each multiple of `period` iterations up to `last_iteration`, `callback` gets the centre, with every
  // round of that iteration in it, once, in order. That may be before the workers get there, when no round lies
  // between. It runs on Run's thread and must be short: keep the snapshot and copy elsewhere.
  virtual void SetEvaluations(std::int64_t period, std::function<void(const CentreSnapshot&)> callback,
                              std::int64_t last_iteration = std::numeric_limits<std::int64_t>::max()) = 0;

  // Serves until all workers have said goodbye: true when for good, false when a server of another plan is to take this
  // one's place. True at once with one worker, who exchanges nothing. On an error it tells
  // the workers, aborts the transport and returns the cause; the centre stays that of the last whole rounds.
  // UNAVAILABLE: a worker is gone. DEADLINE_EXCEEDED: a worker that others wait for did not come, or a transfer stood
  // still. CANCELLED: Stop. FAILED_PRECONDITION, DATA_LOSS: a worker broke the protocol. Each names the rank.
  virtual Result<bool> Run() = 0;

  // Ends Run with `cause`, an error.
  virtual void Stop(const Status& cause) = 0;

  // The newest committed centre, of the workers' last iteration once Run has returned; for the synchronous types the
  // newest mean gradient.
  virtual CentreSnapshot Centre() const = 0;

  // The centre with every round of iterations up to `iteration` in it, waited for: for checkpoints, when the workers
  // have drained. DEADLINE_EXCEEDED: it did not come within the peers' time-out. Run's error, when it has ended.
  virtual Result<CentreSnapshot> CentreAt(std::int64_t iteration) const = 0;

  virtual ServerStatistics Statistics() const = 0;
};

}  // namespace weft
