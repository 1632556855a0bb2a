#include "coordinator/planner/fusion.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>

#include "common/check.h"

namespace weft {
namespace {

// The layers with parameters, in backward order; prefix[j] is P_j, the bytes of the first j.
struct Layers {
  std::vector<int> index;
  std::vector<double> ready;
  std::vector<std::int64_t> prefix = {0};

  std::size_t size() const { return index.size(); }
};

Layers WithParameters(const Timeline& timeline) {
  Layers layers;
  double ready = 0;
  for (std::size_t i = timeline.layers.size(); i-- > 0;) {
    const LayerTiming& layer = timeline.layers[i];
    if (layer.bytes == 0) continue;
    ready = std::max(ready, layer.backward_start_us + layer.backward_us);
    layers.index.push_back(static_cast<int>(i));
    layers.ready.push_back(ready);
    layers.prefix.push_back(layers.prefix.back() + layer.bytes);
  }
  return layers;
}

// `ends` are the counts of layers after which a run ends, ascending; the last is layers.size().
std::vector<LayerRun> RunsFrom(const Timeline& timeline, const Layers& layers, const std::vector<std::size_t>& ends) {
  std::vector<LayerRun> runs;
  runs.reserve(ends.size());
  int last = static_cast<int>(timeline.layers.size()) - 1;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    // Down to just behind the next run's first layer, so that layers without parameters stay with this run.
    const int first = end == layers.size() ? 0 : layers.index[end] + 1;
    runs.push_back({.first_layer = first, .last_layer = last, .bytes = layers.prefix[end] - layers.prefix[begin]});
    last = first - 1;
    begin = end;
  }
  return runs;
}

std::vector<std::size_t> PerLayerEnds(const Layers& layers) {
  std::vector<std::size_t> ends(layers.size());
  for (std::size_t j = 0; j < ends.size(); ++j) ends[j] = j + 1;
  return ends;
}

std::vector<std::size_t> GreedyEnds(const Layers& layers, const Link& link) {
  std::vector<std::size_t> ends;
  double free_at = 0;  // end of the run before
  std::size_t begin = 0;
  for (std::size_t j = 1; j <= layers.size(); ++j) {
    // The run is [begin, j).
    const double start = std::max(free_at, layers.ready[j - 1]);
    const double bytes = static_cast<double>(layers.prefix[j] - layers.prefix[begin]);
    const double end = start + link.latency_us + link.us_per_byte * bytes;
    if (j < layers.size()) {
      const double next = layers.ready[j];
      if (next < end && (next <= start || next - start < link.latency_us)) continue;
    }
    ends.push_back(j);
    free_at = end;
    begin = j;
  }
  return ends;
}

std::vector<std::size_t> OptimalEnds(const Layers& layers, const Link& link) {
  const std::size_t count = layers.size();
  std::vector<double> best(count + 1, 0);       // F
  std::vector<std::size_t> from(count + 1, 0);  // the i that gave F(j)
  const auto cost = [&](std::size_t i) { return best[i] - link.us_per_byte * static_cast<double>(layers.prefix[i]); };
  std::size_t done = 0;            // the largest i with F(i) <= r_j
  std::deque<std::size_t> window;  // the i behind it, by rising F(i) - beta P_i
  for (std::size_t j = 1; j <= count; ++j) {
    const double ready = layers.ready[j - 1];
    const std::size_t candidate = j - 1;
    while (!window.empty() && cost(window.back()) >= cost(candidate)) window.pop_back();
    window.push_back(candidate);
    while (done + 1 < j && best[done + 1] <= ready) ++done;
    while (!window.empty() && window.front() <= done) window.pop_front();

    const double all = static_cast<double>(layers.prefix[j]);
    const double to_now = link.latency_us + link.us_per_byte * (all - static_cast<double>(layers.prefix[done]));
    best[j] = ready + to_now;
    from[j] = done;
    if (!window.empty()) {
      const std::size_t i = window.front();
      const double rest = link.us_per_byte * (all - static_cast<double>(layers.prefix[i]));
      const double waiting = best[i] + link.latency_us + rest;
      if (waiting < best[j]) {
        best[j] = waiting;
        from[j] = i;
      }
    }
  }
  std::vector<std::size_t> ends;
  for (std::size_t j = count; j > 0; j = from[j]) ends.push_back(j);
  std::reverse(ends.begin(), ends.end());
  return ends;
}

}  // namespace

std::vector<LayerRun> Fuse(Fusion fusion, const Timeline& timeline, const Link& link) {
  const Layers layers = WithParameters(timeline);
  if (layers.size() == 0) return {};
  switch (fusion) {
    case Fusion::kPerLayer:
      return RunsFrom(timeline, layers, PerLayerEnds(layers));
    case Fusion::kMGWFBP:
      return RunsFrom(timeline, layers, GreedyEnds(layers, link));
    case Fusion::kOptimal:
      return RunsFrom(timeline, layers, OptimalEnds(layers, link));
    case Fusion::kBalanced:
      break;
  }
  WEFT_CHECK(false) << "Fuse was asked for balanced runs";
  return {};
}

std::vector<LayerRun> FuseBalanced(const Timeline& timeline, int parts) {
  WEFT_CHECK(parts >= 1) << "parts: " << parts;
  const Layers layers = WithParameters(timeline);
  if (layers.size() == 0) return {};
  const double share = static_cast<double>(layers.prefix.back()) / parts;
  std::vector<std::size_t> ends;
  std::size_t end = 0;
  for (int k = 1; k < parts; ++k) {
    const double target = share * k;
    while (end < layers.size() && static_cast<double>(layers.prefix[end]) < target) ++end;
    // prefix[end] is the first at or past the target; the one before may be nearer.
    std::size_t nearest = end;
    if (end > 0 &&
        target - static_cast<double>(layers.prefix[end - 1]) < static_cast<double>(layers.prefix[end]) - target) {
      nearest = end - 1;
    }
    if (nearest > 0 && nearest < layers.size() && (ends.empty() || nearest > ends.back())) ends.push_back(nearest);
  }
  ends.push_back(layers.size());
  return RunsFrom(timeline, layers, ends);
}

double RunReadyUs(const Timeline& timeline, const LayerRun& run) {
  double ready = 0;
  for (int i = run.first_layer; i <= run.last_layer; ++i) {
    const LayerTiming& layer = timeline.layers[static_cast<std::size_t>(i)];
    if (layer.bytes > 0) ready = std::max(ready, layer.backward_start_us + layer.backward_us);
  }
  return ready;
}

double LastTransferEndUs(const Timeline& timeline, std::span<const LayerRun> runs, const Link& link) {
  double end = 0;
  double ready = 0;
  for (const LayerRun& run : runs) {
    ready = std::max(ready, RunReadyUs(timeline, run));
    end = std::max(end, ready) + link.latency_us + link.us_per_byte * static_cast<double>(run.bytes);
  }
  return end;
}

}  // namespace weft
