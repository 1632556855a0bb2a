// How long a plan takes. The floor: 10 ms for 10,000 layers at a given period (fusion, slots, windows), 1 s with the
// period or the strategy chosen.
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <string>

#include "coordinator/planner/fusion.h"
#include "coordinator/planner/planner.h"
#include "coordinator/planner/simulator.h"

namespace weft {
namespace {

// Layers of 100 to 100,000 floats, every fifth without; 8 workers on 1 Gb/s such that MergedPS would take several times
// the compute.
PlanRequest Deep(int layers) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(2, 5);
  std::uniform_real_distribution<double> time(5, 50);
  PlanRequest request;
  Timeline& timeline = request.timeline;
  timeline.layers.resize(static_cast<std::size_t>(layers));
  double start = 0;
  for (std::size_t i = timeline.layers.size(); i-- > 0;) {
    LayerTiming& layer = timeline.layers[i];
    layer.name = "layer" + std::to_string(i);
    layer.bytes = i % 5 == 4 ? 0 : 4 * static_cast<std::int64_t>(std::pow(10, exponent(random)));
    layer.forward_us = 10 * time(random);
    layer.backward_us = 20 * time(random);
    layer.backward_start_us = start;
    start += layer.backward_us;
  }
  timeline.end_us = start;
  request.workers = 8;
  request.links = {{{.latency_us = 50, .us_per_byte = 0.008}}};
  return request;
}

void PlanAtPeriod(benchmark::State& state) {
  PlanRequest request = Deep(static_cast<int>(state.range(0)));
  request.options.period = 8;
  request.options.fusion = static_cast<Fusion>(state.range(1));
  request.options.exact_fusion = true;
  for (auto _ : state) {
    const Result<Plan> plan = MakePlan(request);
    if (!plan.ok() || plan->period != 8) state.SkipWithError("no plan for period 8");
    benchmark::DoNotOptimize(plan);
  }
  state.counters["layers/s"] =
      benchmark::Counter(static_cast<double>(state.range(0)), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(PlanAtPeriod)
    ->ArgNames({"layers", "fusion"})
    ->ArgsProduct({{100, 1000, 10'000}, {static_cast<int>(Fusion::kPerLayer), static_cast<int>(Fusion::kOptimal)}})
    ->Unit(benchmark::kMillisecond);

void PlanWithPeriodChosen(benchmark::State& state) {
  PlanRequest request = Deep(static_cast<int>(state.range(0)));
  request.links[0][0].us_per_byte *= static_cast<double>(state.range(1));
  int period = 0;
  for (auto _ : state) {
    const Result<Plan> plan = MakePlan(request);
    if (!plan.ok()) state.SkipWithError("no plan");
    period = plan.ok() ? plan->period : 0;
  }
  state.counters["T"] = period;
}
// A hundredth of the rate: no period reaches the limits, and all of them are tried.
BENCHMARK(PlanWithPeriodChosen)
    ->ArgNames({"layers", "slower"})
    ->ArgsProduct({{1000, 10'000}, {1, 4, 100}})
    ->Unit(benchmark::kMillisecond);

void PlanAuto(benchmark::State& state) {
  PlanRequest request = Deep(static_cast<int>(state.range(0)));
  request.strategy = StrategyType::kAuto;
  request.peer_links = {request.links[0][0]};
  for (auto _ : state) {
    const Result<Plan> plan = MakePlan(request);
    if (!plan.ok()) state.SkipWithError("no plan");
    benchmark::DoNotOptimize(plan);
  }
}
BENCHMARK(PlanAuto)->ArgName("layers")->Arg(1000)->Arg(10'000)->Unit(benchmark::kMillisecond);

void FuseOptimal(benchmark::State& state) {
  const PlanRequest request = Deep(static_cast<int>(state.range(0)));
  const Link link{.latency_us = 50, .us_per_byte = 0.064};
  double end = 0;
  for (auto _ : state) {
    const std::vector<LayerRun> runs = Fuse(Fusion::kOptimal, request.timeline, link);
    end = LastTransferEndUs(request.timeline, runs, link);
  }
  const double greedy = LastTransferEndUs(request.timeline, Fuse(Fusion::kMGWFBP, request.timeline, link), link);
  if (end > greedy * (1 + 1e-12)) state.SkipWithError("Optimal ends after MGWFBP");
  state.counters["of greedy"] = end / greedy;
}
BENCHMARK(FuseOptimal)->ArgName("layers")->Arg(10'000)->Unit(benchmark::kMillisecond);

void SimulateInterleaved(benchmark::State& state) {
  const PlanRequest request = Deep(static_cast<int>(state.range(0)));
  const Result<Plan> plan = MakePlan(request);
  for (auto _ : state) {
    const Result<SimulationResult> result = Simulate(*plan, request, {});
    if (result->iteration_us < result->compute_us * 0.999) state.SkipWithError("faster than compute");
  }
}
BENCHMARK(SimulateInterleaved)->ArgName("layers")->Arg(100)->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft

BENCHMARK_MAIN();
