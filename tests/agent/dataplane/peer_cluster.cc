#include "tests/agent/dataplane/peer_cluster.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "agent/core/update_rule.h"
#include "common/check.h"
#include "common/mutex.h"

namespace weft {
namespace {

Status RunWorker(const PeerRun& run, const Plan& plan, ToyWorker& worker, LoopbackNetwork& network, PeerResult& result,
                 std::unique_ptr<DataPlane>& plane) {
  const auto k = static_cast<std::size_t>(worker.index);
  PeerPlaneOptions options = run.options;
  if (plan.workers > 1) {
    WEFT_ASSIGN_OR_RETURN(options.topology, Topology::Make(run.topology, plan.workers, options.seed));
  }
  if (!options.learning_rate) {
    options.learning_rate = [rate = run.learning_rate](std::int64_t) { return static_cast<double>(rate); };
  }
  options.reset_optimizer = [&worker](std::int64_t) { std::ranges::fill(worker.velocity, 0.0F); };
  if (run.tune) run.tune(worker.index, options);
  const ModelView view{.weights = worker.weights, .gradients = worker.gradients, .layers = worker.layers};
  const LocalStep step = ToyStep(worker, run.learning_rate, run.momentum);
  WEFT_ASSIGN_OR_RETURN(plane,
                        MakePeerPlane(options, plan, view, step, network.endpoint(worker.index), Clock::Steady()));
  if (!run.resume_planes.empty()) {
    WEFT_RETURN_IF_ERROR(plane->RestoreState(run.first_iteration - 1, run.resume_planes[k]));
  }
  const auto drain = [&](std::int64_t iteration) -> Status {
    WEFT_RETURN_IF_ERROR(plane->Drain());
    result.drains[k].push_back({.iteration = iteration, .weights = worker.weights, .tensors = plane->SaveState()});
    return OkStatus();
  };
  const int layers = static_cast<int>(worker.layers.size());
  const std::int64_t last = run.first_iteration + run.iterations - 1;
  for (std::int64_t t = run.first_iteration; t <= last; ++t) {
    WEFT_RETURN_IF_ERROR(plane->BeginIteration(t));
    for (int l = 0; l < layers; ++l) WEFT_RETURN_IF_ERROR(plane->BeforeForward(l));
    const std::int64_t samples = run.gradient ? run.gradient(worker, t) : 0;
    for (int l = layers - 1; l >= 0; --l) WEFT_RETURN_IF_ERROR(plane->GradientReady(l, samples));
    WEFT_ASSIGN_OR_RETURN(IterationRecord record, plane->EndIteration());
    result.records[k].push_back(std::move(record));
    result.statistics[k] = plane->Statistics();
    if (run.drain_period > 0 && t % run.drain_period == 0 && t < last) WEFT_RETURN_IF_ERROR(drain(t));
    if (run.after_iteration) WEFT_RETURN_IF_ERROR(run.after_iteration(worker.index, t, network));
  }
  const Status end = run.finish ? plane->Finish() : drain(last);
  result.statistics[k] = plane->Statistics();
  return end;
}

}  // namespace

std::vector<std::vector<PlaneTensor>> PeerResult::Planes() const {
  std::vector<std::vector<PlaneTensor>> planes;
  for (const std::vector<PeerSnapshot>& snapshots : drains) planes.push_back(snapshots.back().tensors);
  return planes;
}

PeerResult RunPeers(const PeerRun& run) {
  Plan plan = ToyPlan(run.shape);
  plan.quantization_bits = run.quantization_bits;
  const auto workers = static_cast<std::size_t>(plan.workers);
  const std::vector<float> initial = run.initial.empty() ? ToyWeights(ToyCount(run.shape.layers), 7) : run.initial;
  LoopbackNetwork network(plan.workers, run.network);

  PeerResult result;
  result.status.resize(workers);
  result.drains.resize(workers);
  result.records.resize(workers);
  result.statistics.resize(workers);
  result.workers = run.resume_workers;
  if (result.workers.empty()) {
    result.workers = ToyWorkers(workers, initial, run.shape.layers);
    for (ToyWorker& worker : result.workers) {
      if (run.perturb) run.perturb(worker.index, worker.weights);
    }
  }
  std::vector<std::unique_ptr<DataPlane>> planes(workers);
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < workers; ++k) {
    threads.emplace_back([&, k] {
      result.status[k] = RunWorker(run, plan, result.workers[k], network, result, planes[k]);
      // One that was drained lives on until all are: destroyed, it would end the others.
      if (run.finish || !result.status[k].ok()) planes[k] = nullptr;
    });
  }
  for (std::thread& thread : threads) thread.join();
  planes.clear();
  for (int rank = 0; rank < plan.workers; ++rank) result.traffic.push_back(network.statistics(rank));
  return result;
}

PeerResult RunPeersInTwoParts(const PeerRun& run, std::int64_t iterations) {
  PeerRun first = run;
  first.iterations = iterations;
  first.finish = false;
  const PeerResult half = RunPeers(first);
  PeerRun second = run;
  second.first_iteration = run.first_iteration + iterations;
  second.iterations = run.iterations - iterations;
  second.resume_workers = half.workers;
  second.resume_planes = half.Planes();
  return RunPeers(second);
}

std::vector<float> PlainSgd(const PeerRun& run, std::int64_t samples) {
  std::vector<float> weights = run.initial.empty() ? ToyWeights(ToyCount(run.shape.layers), 7) : run.initial;
  std::vector<float> gradients(weights.size()), velocity(weights.size());
  for (std::int64_t t = 1; t <= run.iterations; ++t) {
    ToyRegression(weights, gradients, {.t = t, .samples = samples, .from = 0, .to = samples});
    SgdStep(weights, gradients, velocity,
            {.learning_rate = run.learning_rate, .momentum = run.momentum, .weight_decay = 0}, t == 1);
  }
  return weights;
}

std::vector<double> SumOf(const std::vector<std::vector<float>>& vectors) {
  std::vector<double> sum(vectors.empty() ? 0 : vectors.front().size());
  for (const std::vector<float>& values : vectors) {
    WEFT_CHECK(values.size() == sum.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(values[i]);
  }
  return sum;
}

double LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  WEFT_CHECK(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    largest = difference > largest || std::isnan(difference) ? difference : largest;
  }
  return largest;
}

double RelativeDistance(const std::vector<float>& a, const std::vector<float>& b) {
  WEFT_CHECK(a.size() == b.size());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    norm += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(difference / norm);
}

std::vector<float> ValuesOf(const std::vector<PlaneTensor>& tensors, const std::string& name) {
  for (const PlaneTensor& tensor : tensors) {
    if (tensor.name == name) return tensor.values;
  }
  return {};
}

std::int64_t InteractionsOf(const ExchangeStatistics& statistics, const std::string& result) {
  for (const auto& [name, count] : statistics.interactions) {
    if (name == result) return count;
  }
  return 0;
}

}  // namespace weft
