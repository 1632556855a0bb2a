#include "tests/agent/dataplane/toy_cluster.h"

#include <algorithm>
#include <random>
#include <thread>

#include "agent/core/update_rule.h"
#include "agent/dataplane/parameter_server_worker.h"
#include "common/check.h"
#include "common/mutex.h"

namespace weft {

Plan ToyPlan(const ToyShape& shape) {
  Plan plan;
  plan.strategy = shape.strategy;
  plan.workers = shape.workers;
  plan.servers = shape.servers;
  plan.period = shape.period;
  plan.compute_us = 1000;
  const std::vector<FloatRange> ranges = ToyLayers(shape.layers);
  for (int last = static_cast<int>(shape.layers.size()) - 1; last >= 0; last -= shape.layers_per_group) {
    PlanGroup group;
    group.index = static_cast<int>(plan.groups.size());
    group.first_layer = std::max(0, last - shape.layers_per_group + 1);
    group.last_layer = last;
    group.window_from_us = -200;
    group.window_to_us = 300;
    group.slot_us = 500.0 / shape.workers;
    const std::int64_t first = ranges[static_cast<std::size_t>(group.first_layer)].first;
    const std::int64_t end =
        ranges[static_cast<std::size_t>(last)].first + ranges[static_cast<std::size_t>(last)].count;
    group.bytes = (end - first) * 4;
    if (group.index == 0 && end - first >= shape.servers) {
      std::int64_t at = first;
      for (int s = 0; s < shape.servers; ++s) {
        const std::int64_t next = first + (end - first) * (s + 1) / shape.servers;
        plan.shards.push_back({.group = 0, .server = s, .first = at, .count = next - at});
        at = next;
      }
    } else if (end > first) {
      plan.shards.push_back(
          {.group = group.index, .server = group.index % shape.servers, .first = first, .count = end - first});
    }
    plan.groups.push_back(group);
  }
  return plan;
}

std::vector<FloatRange> ToyLayers(const std::vector<std::int64_t>& sizes) {
  std::vector<FloatRange> layers;
  std::int64_t at = 0;
  for (const std::int64_t size : sizes) {
    layers.push_back({.first = at, .count = size});
    at += size;
  }
  return layers;
}

std::vector<ToyWorker> ToyWorkers(std::size_t count, const std::vector<float>& weights,
                                  const std::vector<std::int64_t>& layers) {
  std::vector<ToyWorker> workers;
  const std::vector<float> zeros(weights.size());
  for (std::size_t k = 0; k < count; ++k) {
    workers.push_back({.index = static_cast<int>(k),
                       .weights = weights,
                       .gradients = zeros,
                       .velocity = zeros,
                       .layers = ToyLayers(layers)});
  }
  return workers;
}

std::int64_t ToyCount(const std::vector<std::int64_t>& sizes) {
  std::int64_t count = 0;
  for (const std::int64_t size : sizes) count += size;
  return count;
}

std::vector<float> ToyWeights(std::int64_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

void ToyRegression(std::span<const float> weights, std::span<float> gradients, const ToyBatch& batch) {
  std::vector<double> sum(weights.size());
  for (std::int64_t n = batch.from; n < batch.to; ++n) {
    const std::vector<float> x = ToyWeights(static_cast<std::int64_t>(weights.size()),
                                            static_cast<std::uint32_t>(1000 + batch.t * batch.samples + n));
    double error = -static_cast<double>(x[0]) * 2 - 1;
    for (std::size_t i = 0; i < x.size(); ++i) error += static_cast<double>(x[i]) * static_cast<double>(weights[i]);
    for (std::size_t i = 0; i < x.size(); ++i) sum[i] += error * static_cast<double>(x[i]);
  }
  const auto count = static_cast<double>(batch.to - batch.from);
  for (std::size_t i = 0; i < sum.size(); ++i) gradients[i] = count > 0 ? static_cast<float>(sum[i] / count) : 0.0F;
}

namespace {

// Where the servers leave their parts of the centre for each other.
class Meeting {
 public:
  Meeting(int servers, std::size_t count) : servers_(servers), centre_(count) {}

  // The whole centre, once all servers have come as often.
  std::vector<float> Bring(const CentreSnapshot& part) {
    const MutexLock lock(mutex_);
    part.CopyTo(centre_);
    const std::int64_t meeting = came_++ / servers_;
    changed_.NotifyAll();
    while (came_ < (meeting + 1) * servers_) changed_.WaitUntil(mutex_, TimePoint::max());
    return centre_;
  }

 private:
  const std::int64_t servers_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<float> centre_ WEFT_GUARDED_BY(mutex_);
  std::int64_t came_ WEFT_GUARDED_BY(mutex_) = 0;
};

Status RunServer(const ToyRun& run, int rank, LoopbackNetwork& network, Meeting& meeting,
                 std::unique_ptr<ParameterServer>& server) {
  for (std::size_t change = 0;; ++change) {
    WEFT_ASSIGN_OR_RETURN(const bool for_good, server->Run());
    if (for_good) return OkStatus();
    if (change == run.changes.size()) return InternalError("the workers change to a plan that there is not");
    const std::vector<float> centre = meeting.Bring(server->Centre());
    WEFT_ASSIGN_OR_RETURN(server, ParameterServer::Make(run.options, ToyPlan(run.changes[change].shape), centre,
                                                        network.endpoint(rank), Clock::Steady()));
    WEFT_RETURN_IF_ERROR(server->RestoreCentre(run.changes[change].behind, centre));
  }
}

Status RunWorker(const ToyRun& run, const Plan& plan, ToyWorker& worker, LoopbackNetwork& network, ToyResult& result,
                 std::unique_ptr<DataPlane>& plane) {
  const auto k = static_cast<std::size_t>(worker.index);
  ParameterServerOptions options = run.options;
  if (run.tune) run.tune(worker.index, options);
  const ModelView view{.weights = worker.weights, .gradients = worker.gradients, .layers = worker.layers};
  const LocalStep step = ToyStep(worker, run.learning_rate, run.momentum);
  WEFT_ASSIGN_OR_RETURN(
      plane, MakeParameterServerWorker(options, plan, view, step, network.endpoint(worker.index), Clock::Steady()));
  if (!run.resume_planes.empty()) {
    WEFT_RETURN_IF_ERROR(plane->RestoreState(run.first_iteration - 1, run.resume_planes[k]));
  }
  const int layers = static_cast<int>(worker.layers.size());
  for (std::int64_t t = run.first_iteration; t < run.first_iteration + run.iterations; ++t) {
    WEFT_RETURN_IF_ERROR(plane->BeginIteration(t));
    for (int l = 0; l < layers; ++l) WEFT_RETURN_IF_ERROR(plane->BeforeForward(l));
    const std::int64_t samples = run.gradient(worker, t);
    for (int l = layers - 1; l >= 0; --l) WEFT_RETURN_IF_ERROR(plane->GradientReady(l, samples));
    WEFT_ASSIGN_OR_RETURN(IterationRecord record, plane->EndIteration());
    result.records[k].push_back(std::move(record));
    for (const ToyChange& change : run.changes) {
      if (change.behind != t) continue;
      WEFT_RETURN_IF_ERROR(plane->Drain());
      WEFT_RETURN_IF_ERROR(plane->Leave());
      const std::vector<PlaneTensor> state = plane->SaveState();
      plane.reset();
      WEFT_ASSIGN_OR_RETURN(plane, MakeParameterServerWorker(options, ToyPlan(change.shape), view, step,
                                                             network.endpoint(worker.index), Clock::Steady()));
      WEFT_RETURN_IF_ERROR(plane->RestoreState(t, state));
    }
    if (run.after_iteration) WEFT_RETURN_IF_ERROR(run.after_iteration(worker.index, t, network));
  }
  if (run.finish) return plane->Finish();
  WEFT_RETURN_IF_ERROR(plane->Drain());
  result.planes[k] = plane->SaveState();
  return OkStatus();
}

}  // namespace

LocalStep ToyStep(ToyWorker& worker, float learning_rate, float momentum) {
  return [&worker, learning_rate, momentum](FloatRange range, std::int64_t iteration) {
    const auto part = [range](std::vector<float>& all) {
      return std::span<float>(all).subspan(static_cast<std::size_t>(range.first),
                                           static_cast<std::size_t>(range.count));
    };
    SgdStep(part(worker.weights), part(worker.gradients), part(worker.velocity),
            {.learning_rate = learning_rate, .momentum = momentum, .weight_decay = 0}, iteration == 1);
    ++worker.steps;
  };
}

ToyResult RunToy(const ToyRun& run) {
  const Plan plan = ToyPlan(run.shape);
  const auto workers = static_cast<std::size_t>(plan.workers), servers = static_cast<std::size_t>(plan.servers);
  const std::int64_t count = ToyCount(run.shape.layers);
  const std::vector<float> initial = run.initial.empty() ? ToyWeights(count, 7) : run.initial;
  LoopbackNetwork network(plan.workers + plan.servers, run.network);

  ToyResult result;
  result.worker_status.resize(workers);
  result.server_status.resize(servers);
  result.planes.resize(workers);
  result.records.resize(workers);
  result.workers = run.resume_workers;
  if (result.workers.empty()) result.workers = ToyWorkers(workers, initial, run.shape.layers);
  Mutex mutex;
  std::vector<std::unique_ptr<ParameterServer>> planes;
  for (int s = 0; s < plan.servers; ++s) {
    planes.push_back(
        ParameterServer::Make(run.options, plan, initial, network.endpoint(plan.workers + s), Clock::Steady()).value());
    if (!run.resume_centre.empty()) {
      WEFT_CHECK(planes.back()->RestoreCentre(run.first_iteration - 1, run.resume_centre).ok());
    }
    if (run.evaluation_period > 0) {
      planes.back()->SetEvaluations(
          run.evaluation_period,
          [&](const CentreSnapshot& snapshot) {
            std::vector<float> weights(initial.size());
            snapshot.CopyTo(weights);
            const MutexLock lock(mutex);
            result.evaluations.emplace_back(snapshot.iteration, std::move(weights));
          },
          run.iterations);
    }
  }
  std::vector<std::unique_ptr<DataPlane>> worker_planes(workers);  // a paused worker lives on while the centre is read
  Meeting meeting(plan.servers, initial.size());
  std::vector<std::thread> server_threads, worker_threads;
  for (std::size_t s = 0; s < servers; ++s) {
    server_threads.emplace_back([&, s] {
      result.server_status[s] = RunServer(run, plan.workers + static_cast<int>(s), network, meeting, planes[s]);
    });
  }
  for (std::size_t k = 0; k < workers; ++k) {
    worker_threads.emplace_back([&, k] {
      result.worker_status[k] = RunWorker(run, plan, result.workers[k], network, result, worker_planes[k]);
      if (run.finish) worker_planes[k] = nullptr;
    });
  }
  for (std::thread& thread : worker_threads) thread.join();
  if (!run.finish) {
    for (auto& server : planes) {
      const Result<CentreSnapshot> centre = server->CentreAt(run.first_iteration + run.iterations - 1);
      WEFT_CHECK(centre.ok()) << centre.status().ToString();
      server->Stop(CancelledError("paused"));
    }
  }
  for (std::thread& thread : server_threads) thread.join();
  result.centre.resize(initial.size());
  for (auto& server : planes) {
    server->Centre().CopyTo(result.centre);
    result.servers.push_back(server->Statistics());
  }
  for (int rank = 0; rank < plan.workers + plan.servers; ++rank) result.traffic.push_back(network.statistics(rank));
  return result;
}

}  // namespace weft
