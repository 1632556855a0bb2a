// Every strategy on the loopback against the simulator: workers as threads whose compute sleeps (33 ms forward, 67 ms
// backward), links of 100 Mb/s and 1 Gb/s. Prints one line per strategy: the measured iteration and its ratio to
// compute, the simulated one and its ratio to the measured, and what a worker sends per iteration, predicted and
// counted.
//
//   strategies_benchmark [iterations] [workers] [megabits a second] [strategy or all] [model's ms on a link]
//
// Without workers and rate: 4 and 8 of them, both rates; the model takes 33 ms. Iterations are means: where a strategy
// draws partners at random, as many as share a port wait together, and no single iteration is like the others. Ends
// with 1 when a run fails, or when the mean of equal weights is not that value. What workers' threads take of the
// processor is measured too, so an idle machine is needed.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agent/dataplane/parameter_server.h"
#include "agent/dataplane/parameter_server_worker.h"
#include "agent/dataplane/peer_plane.h"
#include "agent/transport/loopback.h"
#include "common/plan/names.h"
#include "coordinator/planner/planner.h"
#include "coordinator/planner/simulator.h"

namespace weft {
namespace {

constexpr int kLayers = 10;
constexpr double kForwardUs = 33000, kBackwardUs = 67000;
constexpr Duration kLatency = std::chrono::microseconds(50);
constexpr float kStep = 1e-3F;

struct Setting {
  int workers = 4;
  double megabits = 100;
  int iterations = 24;
  double model_ms = 33;  // a third of compute

  double bytes_per_second() const { return megabits * 1e6 / 8; }
  std::int64_t floats() const { return static_cast<std::int64_t>(bytes_per_second() * model_ms * 1e-3 / 4); }
};

// Each third of the layers holds about twice the one before.
Timeline ReplayTimeline(std::int64_t floats) {
  Timeline timeline;
  double sum = 0;
  std::vector<double> shares;
  for (int l = 0; l < kLayers; ++l) shares.push_back(std::pow(2.0, l / 3.0)), sum += shares.back();
  for (int l = 0; l < kLayers; ++l) {
    const double share = shares[static_cast<std::size_t>(l)] / sum;
    timeline.layers.push_back({.name = std::to_string(l),
                               .bytes = 4 * static_cast<std::int64_t>(share * static_cast<double>(floats)),
                               .forward_us = kForwardUs / kLayers,
                               .backward_us = kBackwardUs / kLayers,
                               .backward_start_us = kBackwardUs / kLayers * (kLayers - 1 - l)});
  }
  timeline.end_us = kBackwardUs;
  return timeline;
}

struct Row {
  std::string name;
  PlanRequest request;
  bool exact = false;  // equal weights stay equal, and step in each iteration
};

struct Measured {
  double iteration_us = 0;
  double sent_bytes = 0;  // mean of an iteration and a worker
};

ParameterServerOptions ServerOptions(const Plan& plan) {
  ParameterServerOptions options;
  options.forward_time = FromMicroseconds(plan.forward_us);
  return options;
}

Result<std::unique_ptr<DataPlane>> PlaneOf(const Row& row, const Plan& plan, const ModelView& view, LocalStep step,
                                           Transport& transport) {
  Clock& clock = Clock::Steady();
  if (UsesParameterServers(plan.strategy)) {
    WEFT_ASSIGN_OR_RETURN(
        auto worker, MakeParameterServerWorker(ServerOptions(plan), plan, view, std::move(step), transport, clock));
    return std::unique_ptr<DataPlane>(std::move(worker));
  }
  PeerPlaneOptions options;
  const PeerOptions& peers = row.request.peers;
  options.order = peers.order;
  options.overlap = peers.overlap;
  options.topology = plan.strategy == StrategyType::kSwarm ? peers.swarm_topology : peers.gossip_topology;
  return MakePeerPlane(options, plan, view, std::move(step), transport, clock);
}

// One worker's training loop. Its iterations are measured over whole periods, without the first third.
class Worker {
 public:
  Worker(const Row& row, const Plan& plan, LoopbackNetwork& network, int rank, int iterations)
      : row_(row), plan_(plan), network_(network), rank_(rank), iterations_(iterations) {}

  Status Train() {
    const Timeline& timeline = row_.request.timeline;
    std::vector<float> weights(static_cast<std::size_t>(timeline.total_bytes() / 4));
    std::vector<float> gradients(weights.size(), 1.0F);
    ModelView view{.weights = weights, .gradients = gradients, .layers = {}};
    std::int64_t at = 0;
    for (const LayerTiming& layer : timeline.layers) {
      view.layers.push_back({.first = at, .count = layer.bytes / 4});
      at += layer.bytes / 4;
    }
    const LocalStep step = [&](FloatRange range, std::int64_t) {
      for (std::int64_t i = range.first; i < range.first + range.count; ++i) {
        weights[static_cast<std::size_t>(i)] -= kStep * gradients[static_cast<std::size_t>(i)];
      }
    };
    WEFT_ASSIGN_OR_RETURN(plane_, PlaneOf(row_, plan_, view, step, network_.endpoint(rank_)));
    due_ = Clock::Steady().Now();
    TimePoint measured_from = due_;
    for (int t = 1; t <= iterations_; ++t) {
      if (t == SettledAt() + 1) measured_from = due_;
      WEFT_RETURN_IF_ERROR(Iterate(t));
      if (t <= SettledAt() || (t - SettledAt()) % plan_.period != 0) continue;
      iteration_us_ = ToMicroseconds(due_ - measured_from) / (t - SettledAt());
    }
    // What is still under way is as much as was before the first iteration ended.
    sent_bytes_ = static_cast<double>(network_.statistics(rank_).egress.bytes) / iterations_;
    WEFT_RETURN_IF_ERROR(plane_->Drain());
    WEFT_RETURN_IF_ERROR(plane_->Finish());
    const float expected = -kStep * static_cast<float>(iterations_);
    for (const float weight : weights) {
      const bool right = row_.exact ? std::abs(weight - expected) < 1e-4F : std::isfinite(weight);
      if (!right) return InternalError(row_.name + ": a weight is " + std::to_string(weight));
    }
    return OkStatus();
  }

  double iteration_us() const { return iteration_us_; }
  double sent_bytes() const { return sent_bytes_; }

 private:
  int SettledAt() const { return iterations_ / 3; }
  // Deadlines are absolute: a late wake-up takes nothing from the layers that follow; what a call takes moves them all.
  Status Called(const Status& status, TimePoint before) {
    const Duration took = Clock::Steady().Now() - before;
    due_ += took;
    return status;
  }
  void Compute(double us) {
    due_ += FromMicroseconds(us);
    Clock::Steady().SleepUntil(due_);
  }

  Status Iterate(int t) {
    const auto now = [] { return Clock::Steady().Now(); };
    const std::vector<LayerTiming>& layers = row_.request.timeline.layers;
    TimePoint before = now();
    WEFT_RETURN_IF_ERROR(Called(plane_->BeginIteration(t), before));
    for (int l = 0; l < kLayers; ++l) {
      before = now();
      WEFT_RETURN_IF_ERROR(Called(plane_->BeforeForward(l), before));
      Compute(layers[static_cast<std::size_t>(l)].forward_us);
    }
    for (int l = kLayers - 1; l >= 0; --l) {
      Compute(layers[static_cast<std::size_t>(l)].backward_us);
      before = now();
      WEFT_RETURN_IF_ERROR(Called(plane_->GradientReady(l, 1), before));
    }
    before = now();
    return Called(plane_->EndIteration().status(), before);
  }

  const Row& row_;
  const Plan& plan_;
  LoopbackNetwork& network_;
  const int rank_;
  const int iterations_;
  std::unique_ptr<DataPlane> plane_;
  TimePoint due_{};
  double iteration_us_ = 0;
  double sent_bytes_ = 0;
};

Result<Measured> Run(const Row& row, const Plan& plan, const Setting& setting) {
  LoopbackOptions links;
  links.links = {{.egress_bytes_per_second = setting.bytes_per_second(),
                  .ingress_bytes_per_second = setting.bytes_per_second(),
                  .latency = kLatency}};
  LoopbackNetwork network(plan.workers + plan.servers, links);
  std::unique_ptr<ParameterServer> server;
  Status server_status;
  std::thread server_thread;
  if (UsesParameterServers(plan.strategy)) {
    const std::vector<float> initial(static_cast<std::size_t>(row.request.timeline.total_bytes() / 4));
    WEFT_ASSIGN_OR_RETURN(server, ParameterServer::Make(ServerOptions(plan), plan, initial,
                                                        network.endpoint(plan.workers), Clock::Steady()));
    server_thread = std::thread([&] { server_status = server->Run().status(); });
  }
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<Status> status(static_cast<std::size_t>(plan.workers));
  std::vector<std::thread> threads;
  for (int k = 0; k < plan.workers; ++k) {
    workers.push_back(std::make_unique<Worker>(row, plan, network, k, setting.iterations));
  }
  for (std::size_t k = 0; k < status.size(); ++k) threads.emplace_back([&, k] { status[k] = workers[k]->Train(); });
  for (std::thread& thread : threads) thread.join();
  if (server_thread.joinable()) server_thread.join();
  for (const Status& one : status) WEFT_RETURN_IF_ERROR(one);
  WEFT_RETURN_IF_ERROR(server_status);
  Measured out;
  for (const auto& worker : workers) {
    out.iteration_us += worker->iteration_us() / plan.workers;
    out.sent_bytes += worker->sent_bytes() / plan.workers;
  }
  return out;
}

Result<std::vector<Row>> Rows(const Setting& setting) {
  PlanRequest base;
  base.timeline = ReplayTimeline(setting.floats());
  base.workers = setting.workers;
  const Link link{.latency_us = ToMicroseconds(kLatency), .us_per_byte = 1e6 / setting.bytes_per_second()};
  base.links = {{link}};
  base.peer_links = {link};
  base.peers.local_steps = 4;
  WEFT_ASSIGN_OR_RETURN(base.peers.swarm_topology, Topology::Make({}, setting.workers, 1));
  WEFT_ASSIGN_OR_RETURN(base.peers.gossip_topology,
                        Topology::Make({.type = TopologyType::kRing, .degree = 0, .edges = {}}, setting.workers, 1));
  std::vector<Row> rows;
  const auto add = [&](const std::string& name, StrategyType strategy, bool exact) -> PlanRequest& {
    PlanRequest request = base;
    request.strategy = strategy;
    request.servers = UsesParameterServers(strategy) ? 1 : 0;
    rows.push_back({name, std::move(request), exact});
    return rows.back().request;
  };
  add("InterleavedPS", StrategyType::kInterleavedPS, false);
  add("MergedPS", StrategyType::kMergedPS, true);
  add("BulkSynchronousPS", StrategyType::kBulkSynchronousPS, true);
  add("AllReduce", StrategyType::kAllReduce, true);
  add("LocalSGD", StrategyType::kLocalSGD, true);
  add("DPSGD", StrategyType::kDPSGD, true);
  add("DPSGD, adapt first", StrategyType::kDPSGD, true).peers.order = CombineOrder::kAdaptThenCombine;
  add("SGP", StrategyType::kSGP, false);  // a step counts by the weight
  add("SGP, no overlap", StrategyType::kSGP, false).peers.overlap = 0;
  add("ADPSGD", StrategyType::kADPSGD, false);
  add("Swarm", StrategyType::kSwarm, false);
  PeerOptions& often = add("Swarm, floats, H = 1", StrategyType::kSwarm, false).peers;
  often.local_steps = 1;
  often.quantization_bits = 0;
  return rows;
}

Status Play(const Setting& setting, const std::string& only) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<Row> rows, Rows(setting));
  std::printf("%d workers, %g Mb/s, compute %.0f ms, model %.2f MB, %d iterations\n", setting.workers, setting.megabits,
              (kForwardUs + kBackwardUs) / 1e3, static_cast<double>(setting.floats()) * 4e-6, setting.iterations);
  std::printf("%-20s %5s %12s %8s %8s %8s %12s %12s %9s\n", "strategy", "T, H", "iteration ms", "x comp.", "simul. x",
              "sim/meas", "kB sent", "simulated kB", "sim/count");
  for (const Row& row : rows) {
    if (only != "all" && FromLooseName<StrategyType>(only) != row.request.strategy) continue;
    WEFT_ASSIGN_OR_RETURN(const Plan plan, MakePlan(row.request));
    WEFT_ASSIGN_OR_RETURN(const SimulationResult simulated, Simulate(plan, row.request, {}));
    WEFT_ASSIGN_OR_RETURN(const Measured measured, Run(row, plan, setting));
    const double compute = simulated.compute_us;
    double sent = 0;
    for (int k = 0; k < plan.workers; ++k) sent += simulated.sent_bytes[static_cast<std::size_t>(k)] / plan.workers;
    std::printf("%-20s %5d %12.1f %8.3f %8.3f %8.3f %12.1f %12.1f %9.3f\n", row.name.c_str(), plan.period,
                measured.iteration_us / 1e3, measured.iteration_us / compute, simulated.iteration_us / compute,
                simulated.iteration_us / measured.iteration_us, measured.sent_bytes / 1e3, sent / 1e3,
                sent / measured.sent_bytes);
    std::fflush(stdout);
  }
  std::printf("\n");
  return OkStatus();
}

Status Main(int iterations, const std::vector<int>& workers, const std::vector<double>& megabits,
            const std::string& only, double model_ms) {
  for (const int k : workers) {
    for (const double rate : megabits) {
      WEFT_RETURN_IF_ERROR(
          Play({.workers = k, .megabits = rate, .iterations = iterations, .model_ms = model_ms}, only));
    }
  }
  return OkStatus();
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  const int iterations = argc > 1 ? std::atoi(argv[1]) : 24;
  const std::vector<int> workers = argc > 2 ? std::vector<int>{std::atoi(argv[2])} : std::vector<int>{4, 8};
  const std::vector<double> megabits =
      argc > 3 ? std::vector<double>{std::atof(argv[3])} : std::vector<double>{100, 1000};
  const std::string only = argc > 4 ? argv[4] : "all";
  const double model_ms = argc > 5 ? std::atof(argv[5]) : 33;
  if (iterations < 12 || workers[0] < 2 || !(megabits[0] > 0) || !(model_ms > 0)) {
    std::fprintf(stderr,
                 "usage: strategies_benchmark [iterations >= 12] [workers >= 2] [megabits > 0] [strategy or all] "
                 "[milliseconds > 0]\n");
    return 2;
  }
  const weft::Status status = weft::Main(iterations, workers, megabits, only, model_ms);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
