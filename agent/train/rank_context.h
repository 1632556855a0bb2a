// What a rank of either role works with once the coordinator has said Prepare: the job, its data and model, and the
// ways to the other ranks and the coordinator.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/client/coordinator_client.h"
#include "agent/data/dataset.h"
#include "agent/dataplane/parameter_server_options.h"
#include "agent/model/model.h"
#include "agent/train/mailbox.h"
#include "agent/train/pause_gate.h"
#include "agent/transport/transport.h"
#include "common/clock.h"
#include "common/job/job_spec.h"
#include "common/plan/plan.h"
#include "proto/coordinator.pb.h"

namespace weft {

class AgentMetrics;

struct RankContext {
  // Constant after start.
  std::string job_name;
  std::uint64_t generation = 1;
  int rank = 0;
  int workers = 1;  // ranks 0..workers-1
  int servers = 1;  // ranks workers..workers+servers-1
  Duration peer_timeout = std::chrono::seconds(30);
  Transport* transport = nullptr;
  CoordinatorClient* coordinator = nullptr;
  AgentMetrics* metrics = nullptr;
  Clock* clock = nullptr;

  // Own synchronization.
  Mailbox<v1::CoordinatorMessage> inbox;
  PauseGate gate;
  Mailbox<Plan> plans;  // each before the gate's kReplan

  // Set by Prepare, on the main thread.
  JobSpec job;
  std::string job_sha256;
  std::string run_directory;
  std::string checkpoint;         // to start from; empty: from the seed
  std::vector<Plan> later_plans;  // set by Train: those that take effect at iterations known beforehand
  std::unique_ptr<Dataset> dataset;
  std::unique_ptr<Model> model;
  std::unique_ptr<Model> evaluation_model;  // of a worker that is the writer

  bool is_worker() const { return rank < workers; }
  int server_rank(int server) const { return workers + server; }
  // The rank that evaluates, and writes checkpoints and the model: the first server, or the first worker where there
  // are none.
  int writer_rank() const { return servers > 0 ? server_rank(0) : 0; }
  bool is_writer() const { return rank == writer_rank(); }
  TimePoint peer_deadline() const { return clock->Now() + peer_timeout; }
  // For transfers of whole states, from several ranks to one: late only below about 1 Mb/s.
  TimePoint state_deadline() const {
    const double bytes = 4.0 * 4.0 * static_cast<double>(parameter_count()) * workers;
    return clock->Now() + peer_timeout + FromSeconds(bytes / 1e5);
  }
  std::int64_t parameter_count() const { return static_cast<std::int64_t>(model->weights().size()); }
};

// Parses the job, loads the data and makes the model with the weights of the seed or of model.initialWeights.
// INVALID_ARGUMENT: bad data, or data and model that do not fit each other.
Status PrepareContext(const v1::Prepare& prepare, RankContext& context);

// The weights of the seed, or of model.initialWeights.
Status InitializeWeights(RankContext& context);

// Tells the coordinator that the model of `iteration` is not finite, which ends the run. Returns what this rank ends
// with.
Status TellDiverged(RankContext& context, std::int64_t iteration);

// Iterations in an epoch, and in the whole run: the data, the batch, the workers and the job's epochs give them.
std::int64_t IterationsPerEpoch(const RankContext& context);
std::int64_t TotalIterations(const RankContext& context);

// What the job says of the parameter servers' exchange.
ParameterServerOptions PlaneOptions(const RankContext& context, const Plan& plan);

// Where the model is that is evaluated and saved.
enum class ModelPlace {
  kCentre,   // at the servers
  kWorker0,  // the workers are all alike, or there is one
  kWorkers,  // each has its own: their mean
};
ModelPlace ModelPlaceOf(const Plan& plan);

}  // namespace weft
