// The ranks of a plane without servers as threads over the loopback, with a model of a few floats whose gradient is a
// formula (toy_cluster.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "agent/dataplane/data_plane.h"
#include "agent/dataplane/peer_plane.h"
#include "agent/transport/loopback.h"
#include "common/math/topology.h"
#include "common/status.h"
#include "tests/agent/dataplane/toy_cluster.h"

namespace weft {

struct PeerRun {
  ToyShape shape;             // its servers do not count
  int quantization_bits = 0;  // Swarm's
  TopologySpec topology;      // of shape.workers nodes, drawn with options.seed
  PeerPlaneOptions options;   // topology and learning_rate are filled in
  LoopbackOptions network;
  std::int64_t iterations = 1;
  std::int64_t first_iteration = 1;
  ToyGradient gradient;  // null: no samples, no steps
  float learning_rate = 0.1F;
  float momentum = 0.9F;
  bool finish = true;             // else the run ends with a Drain
  std::int64_t drain_period = 0;  // every so many iterations all drain, and their state is kept
  std::vector<float> initial;     // weights; empty: ToyWeights
  std::function<void(int worker, std::vector<float>& weights)> perturb;  // each worker's own start
  std::function<void(int worker, PeerPlaneOptions& options)> tune;
  // State to go on from; empty: from `initial`.
  std::vector<ToyWorker> resume_workers;
  std::vector<std::vector<PlaneTensor>> resume_planes;  // empty: fresh planes
  // Called by each worker after each iteration; an error ends that worker, whose plane is then destroyed.
  std::function<Status(int worker, std::int64_t iteration, LoopbackNetwork& network)> after_iteration;
};

// What a worker holds after a Drain.
struct PeerSnapshot {
  std::int64_t iteration = 0;
  std::vector<float> weights;
  std::vector<PlaneTensor> tensors;
};

struct PeerResult {
  std::vector<ToyWorker> workers;
  std::vector<Status> status;                     // by worker, as all below
  std::vector<std::vector<PeerSnapshot>> drains;  // the last one too, where the run ends with a Drain
  std::vector<std::vector<IterationRecord>> records;
  std::vector<ExchangeStatistics> statistics;
  std::vector<RankStatistics> traffic;

  // The tensors of each worker's last Drain.
  std::vector<std::vector<PlaneTensor>> Planes() const;
};

PeerResult RunPeers(const PeerRun& run);
// The same, drained after so many iterations and gone on with by new planes.
PeerResult RunPeersInTwoParts(const PeerRun& run, std::int64_t iterations);

// Plain SGD with momentum in one process on the joined batches of ToyRegression, `samples` an iteration.
std::vector<float> PlainSgd(const PeerRun& run, std::int64_t samples);

// The sum over `vectors`, element by element, in double.
std::vector<double> SumOf(const std::vector<std::vector<float>>& vectors);
// The largest |a - b| over the elements; and |a - b| / |b| of the vectors.
double LargestDifference(const std::vector<float>& a, const std::vector<float>& b);
double RelativeDistance(const std::vector<float>& a, const std::vector<float>& b);
// The tensor of this name; empty: there is none.
std::vector<float> ValuesOf(const std::vector<PlaneTensor>& tensors, const std::string& name);
std::int64_t InteractionsOf(const ExchangeStatistics& statistics, const std::string& result);

}  // namespace weft
