// The update rules against memcpy of as many bytes as they read and write, on vectors beyond the caches. The ratio is
// 1 at memory speed.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "agent/core/update_rule.h"

namespace weft {
namespace {

constexpr std::size_t kFloats = 8 << 20;

// Seconds that memcpy takes for one float read and one written, the best of a few runs.
double CopySeconds() {
  std::vector<float> from(kFloats, 1.0F), to(kFloats);
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    std::memcpy(to.data(), from.data(), kFloats * sizeof(float));
    benchmark::DoNotOptimize(to.data());
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best / static_cast<double>(kFloats);
}

// `streams` floats are read or written per element; a copy has two.
template <typename Rule>
void Compare(benchmark::State& state, double streams, const Rule& rule) {
  std::vector<float> a(kFloats, 1.0F), b(kFloats, 1.0F), c(kFloats, 1.0F), d(kFloats, 1.0F);
  double seconds = 0;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    rule(a, b, c, d);
    benchmark::DoNotOptimize(a.data());
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  const double per_float = seconds / static_cast<double>(state.iterations()) / static_cast<double>(kFloats);
  state.counters["share_of_memcpy"] = CopySeconds() * streams / 2 / per_float;
}

void BM_ElasticTerm(benchmark::State& state) {
  Compare(state, 4, [](auto& a, auto& b, auto& c, auto&) { ApplyElasticTerm(a, b, c, 0.1F); });
}
void BM_AddInto(benchmark::State& state) {
  Compare(state, 3, [](auto& a, auto& b, auto&, auto&) { AddInto(a, b); });
}
void BM_CommitCentre(benchmark::State& state) {
  Compare(state, 3, [](auto& a, auto& b, auto&, auto&) { CommitCentre(a, b, 4, 0.9F); });
}
void BM_SgdStep(benchmark::State& state) {
  Compare(state, 5, [](auto& a, auto& b, auto& c, auto&) { SgdStep(a, b, c, {0.1F, 0.9F, 5e-4F}, false); });
}
void BM_AdamWStep(benchmark::State& state) {
  Compare(state, 7, [](auto& a, auto& b, auto& c, auto& d) { AdamWStep(a, b, c, d, {.learning_rate = 1e-3}, 10); });
}
BENCHMARK(BM_ElasticTerm);
BENCHMARK(BM_AddInto);
BENCHMARK(BM_CommitCentre);
BENCHMARK(BM_SgdStep);
BENCHMARK(BM_AdamWStep);

}  // namespace
}  // namespace weft

BENCHMARK_MAIN();
