// Workers and servers as threads over the loopback, with a model of a few floats whose gradient is a formula.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "agent/dataplane/data_plane.h"
#include "agent/dataplane/parameter_server.h"
#include "agent/dataplane/parameter_server_options.h"
#include "agent/transport/loopback.h"
#include "common/plan/plan.h"
#include "common/status.h"

namespace weft {

// Layers of these sizes; groups of `layers_per_group` consecutive ones in backward order (the last group may have
// fewer). Group i is on server i mod S, and group 0 is split over all servers that it has floats for.
struct ToyShape {
  StrategyType strategy = StrategyType::kInterleavedPS;
  int workers = 2;
  int servers = 1;
  int period = 1;
  std::vector<std::int64_t> layers;
  int layers_per_group = 1;
};
Plan ToyPlan(const ToyShape& shape);

std::vector<float> ToyWeights(std::int64_t count, std::uint32_t seed);
std::vector<FloatRange> ToyLayers(const std::vector<std::int64_t>& sizes);
std::int64_t ToyCount(const std::vector<std::int64_t>& sizes);

// Writes the gradient of `layer` (a range), given the weights.
struct ToyWorker {
  int index = 0;
  std::vector<float> weights;
  std::vector<float> gradients;
  std::vector<float> velocity;
  std::vector<FloatRange> layers;
  int steps = 0;
};
// Workers 0 .. count-1, with these weights each.
std::vector<ToyWorker> ToyWorkers(std::size_t count, const std::vector<float>& weights,
                                  const std::vector<std::int64_t>& layers);
// SGD on a range of the worker's weights; counts its calls. `worker` outlives the step.
LocalStep ToyStep(ToyWorker& worker, float learning_rate, float momentum);
// The gradients of all layers in iteration t; returns the samples.
using ToyGradient = std::function<std::int64_t(ToyWorker& worker, std::int64_t iteration)>;

// Linear regression: the mean gradient of (w.x - y)^2 / 2 over samples [from, to) of iteration t's joined batch.
struct ToyBatch {
  std::int64_t t = 1;
  std::int64_t samples = 1;  // in the joined batch
  std::int64_t from = 0;
  std::int64_t to = 1;
};
void ToyRegression(std::span<const float> weights, std::span<float> gradients, const ToyBatch& batch);

// All ranks change to the plan of `shape` behind iteration `behind`; strategy, workers, servers and layers stay.
struct ToyChange {
  std::int64_t behind = 0;
  ToyShape shape;
};

struct ToyRun {
  ToyShape shape;
  std::vector<ToyChange> changes;  // in order
  ParameterServerOptions options;
  LoopbackOptions network;
  std::int64_t iterations = 1;
  std::int64_t first_iteration = 1;
  ToyGradient gradient;
  float learning_rate = 0.1F;
  float momentum = 0.9F;
  std::int64_t evaluation_period = 0;
  bool finish = true;          // else Drain
  std::vector<float> initial;  // weights; empty: ToyWeights
  std::function<void(int worker, ParameterServerOptions& options)> tune;
  // State to go on from; empty: from ToyWeights.
  std::vector<ToyWorker> resume_workers;
  std::vector<std::vector<PlaneTensor>> resume_planes;
  std::vector<float> resume_centre;
  // Called by each worker after each iteration; an error ends that worker as if its process had died.
  std::function<Status(int worker, std::int64_t iteration, LoopbackNetwork& network)> after_iteration;
};

struct ToyResult {
  std::vector<ToyWorker> workers;
  std::vector<Status> worker_status;
  std::vector<Status> server_status;
  std::vector<std::vector<PlaneTensor>> planes;  // by worker, SaveState after Drain
  std::vector<std::vector<IterationRecord>> records;
  std::vector<float> centre;
  std::vector<std::pair<std::int64_t, std::vector<float>>> evaluations;  // of one server each: its shards, else 0
  std::vector<ServerStatistics> servers;
  std::vector<RankStatistics> traffic;  // by rank
};

ToyResult RunToy(const ToyRun& run);

}  // namespace weft
