// What interleaving is worth: 8 workers and 1 server as threads over a loopback whose links carry 1 Gb/s each way. The
// workers sleep as long as a step of 100 ms computes (a replay of 20 layers with a ResNet-50's shape of sizes, scaled
// so that the merged parameter server takes more than 3 times the compute). Prints one line per strategy: the median
// iteration and its ratio to compute alone, measured in the same run, and the simulator's prediction beside it.
//
//   interleave_benchmark [iterations] [period]
//
// Ends with 1 when a run fails, or when a mean of equal gradients or weights is not that value.
#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agent/dataplane/parameter_server.h"
#include "agent/dataplane/parameter_server_worker.h"
#include "agent/transport/loopback.h"
#include "coordinator/planner/planner.h"
#include "coordinator/planner/simulator.h"

namespace weft {
namespace {

constexpr int kWorkers = 8;
constexpr int kLayers = 20;
constexpr double kForwardUs = 33000, kBackwardUs = 67000;
constexpr double kBytesPerSecond = 125e6;
constexpr Duration kLatency = std::chrono::microseconds(50);
constexpr std::int64_t kModelFloats = 800'000;

// ResNet-50's weights lie mostly near its output: each quarter of the layers holds about three times the one before.
Timeline ReplayTimeline() {
  Timeline timeline;
  double sum = 0;
  std::vector<double> shares;
  for (int l = 0; l < kLayers; ++l) shares.push_back(std::pow(3.0, l / 5.0)), sum += shares.back();
  for (int l = 0; l < kLayers; ++l) {
    const double share = shares[static_cast<std::size_t>(l)] / sum;
    timeline.layers.push_back({.name = std::to_string(l),
                               .bytes = 4 * static_cast<std::int64_t>(share * kModelFloats),
                               .forward_us = kForwardUs / kLayers,
                               .backward_us = kBackwardUs / kLayers,
                               .backward_start_us = kBackwardUs / kLayers * (kLayers - 1 - l)});
  }
  timeline.end_us = kBackwardUs;
  return timeline;
}

struct Row {
  std::string name;
  Plan plan;
  ParameterServerOptions options;
};

struct Measured {
  double iteration_us = 0;
  RankStatistics server;
  double iterations = 0;
  bool right = true;
};

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// One worker's training loop; its iterations' times without the first third. `drained` is called between the last
// iteration and the last synchronization.
Status Work(const Row& row, const Timeline& timeline, int iterations, Transport& transport,
            const std::function<void()>& drained, std::vector<double>& times_us, bool& right) {
  Clock& clock = Clock::Steady();
  std::vector<float> weights(static_cast<std::size_t>(timeline.total_bytes() / 4)), gradients(weights.size(), 1.0F);
  ModelView view{.weights = weights, .gradients = gradients, .layers = {}};
  std::int64_t at = 0;
  for (const LayerTiming& layer : timeline.layers) {
    view.layers.push_back({.first = at, .count = layer.bytes / 4});
    at += layer.bytes / 4;
  }
  const LocalStep no_step = [](FloatRange, std::int64_t) {};
  WEFT_ASSIGN_OR_RETURN(auto plane, MakeParameterServerWorker(row.options, row.plan, view, no_step, transport, clock));
  TimePoint due = clock.Now();
  for (int t = 1; t <= iterations; ++t) {
    const TimePoint start = due = std::max(due, clock.Now() - std::chrono::milliseconds(1));
    WEFT_RETURN_IF_ERROR(plane->BeginIteration(t));
    // Deadlines are absolute: a late wake-up takes nothing from the layers that follow; a stall moves them all.
    const auto compute = [&](double us) {
      due += FromMicroseconds(us);
      clock.SleepUntil(due);
    };
    for (int l = 0; l < kLayers; ++l) {
      const TimePoint before = clock.Now();
      WEFT_RETURN_IF_ERROR(plane->BeforeForward(l));
      due += clock.Now() - before > std::chrono::microseconds(200) ? clock.Now() - before : Duration{};
      compute(timeline.layers[static_cast<std::size_t>(l)].forward_us);
    }
    for (int l = kLayers - 1; l >= 0; --l) {
      compute(timeline.layers[static_cast<std::size_t>(l)].backward_us);
      WEFT_RETURN_IF_ERROR(plane->GradientReady(l, 1));
    }
    WEFT_ASSIGN_OR_RETURN(const IterationRecord record, plane->EndIteration());
    if (t > iterations / 3) times_us.push_back(ToMicroseconds(std::max(due, record.end) - start));
  }
  WEFT_RETURN_IF_ERROR(plane->Drain());
  drained();
  WEFT_RETURN_IF_ERROR(plane->Finish());
  // All gradients are 1 and all weights 0: so are their means.
  right = std::ranges::all_of(gradients, [](float g) { return g == 1; }) &&
          std::ranges::all_of(weights, [](float w) { return w == 0; });
  return OkStatus();
}

Result<Measured> Run(const Row& row, const Timeline& timeline, int iterations) {
  const int workers = row.plan.workers;
  LoopbackOptions links;
  links.links = {
      {.egress_bytes_per_second = kBytesPerSecond, .ingress_bytes_per_second = kBytesPerSecond, .latency = kLatency}};
  LoopbackNetwork network(workers + 1, links);
  const std::vector<float> initial(static_cast<std::size_t>(timeline.total_bytes() / 4));
  WEFT_ASSIGN_OR_RETURN(
      auto server, ParameterServer::Make(row.options, row.plan, initial, network.endpoint(workers), Clock::Steady()));
  Status server_status;
  std::thread server_thread([&] { server_status = server->Run().status(); });
  std::vector<Status> status(static_cast<std::size_t>(workers));
  std::vector<std::vector<double>> times(status.size());
  std::vector<char> right(status.size());
  RankStatistics traffic;
  const auto read = [&]() noexcept { traffic = network.statistics(workers); };
  std::barrier drained(workers, read);
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < status.size(); ++k) {
    threads.emplace_back([&, k] {
      bool mine = false, met = false;
      const auto meet = [&] { drained.arrive_and_wait(), met = true; };
      status[k] = Work(row, timeline, iterations, network.endpoint(static_cast<int>(k)), meet, times[k], mine);
      if (!met) drained.arrive_and_drop();
      right[k] = mine;
    });
  }
  for (std::thread& thread : threads) thread.join();
  server_thread.join();
  for (const Status& one : status) WEFT_RETURN_IF_ERROR(one);
  WEFT_RETURN_IF_ERROR(server_status);
  std::vector<double> all;
  for (const auto& one : times) all.insert(all.end(), one.begin(), one.end());
  return Measured{.iteration_us = Median(all),
                  .server = traffic,
                  .iterations = static_cast<double>(iterations),
                  .right = std::ranges::all_of(right, [](char r) { return r != 0; })};
}

PlanRequest RequestFor(const Timeline& timeline, StrategyType strategy, int workers, int period) {
  PlanRequest request;
  request.strategy = strategy;
  request.options.period = period;
  request.options.fusion = strategy == StrategyType::kInterleavedPS ? Fusion::kPerLayer : Fusion::kOptimal;
  request.timeline = timeline;
  request.links = {{{.latency_us = ToMicroseconds(kLatency), .us_per_byte = 1e6 / kBytesPerSecond}}};
  request.workers = workers;
  return request;
}

Result<std::vector<Row>> Rows(const Timeline& timeline, int period) {
  const auto plan = [&](StrategyType strategy, int workers, int t) {
    return MakePlan(RequestFor(timeline, strategy, workers, t));
  };
  ParameterServerOptions options;
  options.forward_time = FromMicroseconds(timeline.forward_us());
  ParameterServerOptions free = options;
  free.admission = false;
  WEFT_ASSIGN_OR_RETURN(const Plan alone, plan(StrategyType::kMergedPS, 1, 1));
  WEFT_ASSIGN_OR_RETURN(const Plan merged, plan(StrategyType::kMergedPS, kWorkers, 1));
  WEFT_ASSIGN_OR_RETURN(const Plan both, plan(StrategyType::kInterleavedPS, kWorkers, period));
  WEFT_ASSIGN_OR_RETURN(const Plan intra, plan(StrategyType::kInterleavedPS, kWorkers, 1));
  Plan inter = both;  // all workers at the start of the window
  for (PlanGroup& group : inter.groups) group.slot_us = 0;
  const std::string t = "T=" + std::to_string(period);
  return std::vector<Row>{{"compute alone", alone, options},         {"merged", merged, options},
                          {"+ inter only (" + t + ")", inter, free}, {"+ intra only (T=1)", intra, options},
                          {"both (" + t + ")", both, options},       {"both, no admission", both, free}};
}

Status Main(int iterations, int period) {
  const Timeline timeline = ReplayTimeline();
  WEFT_ASSIGN_OR_RETURN(const std::vector<Row> rows, Rows(timeline, period));
  std::printf("%d workers, 1 server, 1 Gb/s, compute %.0f ms, model %.1f MB, %d iterations\n\n", kWorkers,
              timeline.compute_us() / 1e3, static_cast<double>(timeline.total_bytes()) / 1e6, iterations);
  std::printf("%-22s %12s %8s %14s %10s %10s %12s %9s\n", "strategy", "iteration ms", "x alone", "MB/iter server",
              "peak MB/s", ">1 at once", "simulated ms", "sim/meas");
  double alone_us = 0;
  for (const Row& row : rows) {
    const bool lone = row.plan.workers == 1;
    WEFT_ASSIGN_OR_RETURN(const Measured m, Run(row, timeline, iterations));
    if (!m.right) return InternalError(row.name + ": a mean of equal values is another value");
    if (lone) alone_us = m.iteration_us;
    double simulated_us = timeline.compute_us();
    if (!lone) {
      PlanRequest request = RequestFor(timeline, row.plan.strategy, row.plan.workers, row.plan.period);
      request.options.admission = row.options.admission;
      WEFT_ASSIGN_OR_RETURN(const SimulationResult simulated, Simulate(row.plan, request, {}));
      simulated_us = simulated.iteration_us;
    }
    const LinkStatistics& in = m.server.ingress;
    std::printf("%-22s %12.1f %8.3f %14.2f %10.1f %9.1f%% %12.1f %9.3f\n", row.name.c_str(), m.iteration_us / 1e3,
                m.iteration_us / alone_us, static_cast<double>(in.bytes) / m.iterations / 1e6,
                in.peak_bytes_per_second / 1e6, 100 * in.concurrent_seconds / m.server.elapsed_seconds,
                simulated_us / 1e3, simulated_us / m.iteration_us);
    std::fflush(stdout);
  }
  return OkStatus();
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  const int iterations = argc > 1 ? std::atoi(argv[1]) : 48;
  const int period = argc > 2 ? std::atoi(argv[2]) : 8;
  if (iterations < 3 || period < 1) {
    std::fprintf(stderr, "usage: interleave_benchmark [iterations >= 3] [period >= 1]\n");
    return 2;
  }
  const weft::Status status = weft::Main(iterations, period);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
