// Gradient fusion: which runs of consecutive layers are sent as one. Fewer runs save latency, more runs start earlier.
//
// All functions work on the layers in backward order, leave out those without parameters, and attach each of these to
// the run before it (the first run takes those before it).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/plan/plan.h"

namespace weft {

struct LayerRun {
  int first_layer = 0;  // forward indices, both included
  int last_layer = 0;
  std::int64_t bytes = 0;

  friend bool operator==(const LayerRun&, const LayerRun&) = default;
};

// The runs in backward order; they cover every layer. Empty when no layer has parameters. `link` is what a transfer
// costs when all workers send it: beta is the link's times workers per server. Not for Fusion::kBalanced.
//
//   PerLayer  one run a layer with parameters
//   MGWFBP    greedy: the next layer joins the run when its gradient is ready before the run's transfer would end, and
//             the transfer has not begun or waiting costs less than alpha
//   Optimal   the partition whose last transfer ends earliest. With r_j the time at which the j-th layer's gradient is
//             ready and P_j the bytes of the first j layers,
//               F(j) = min over i < j of max(F(i), r_j) + alpha + beta (P_j - P_i),   F(0) = 0.
//             F and r never decrease, so the i with F(i) <= r_j are a prefix that grows with j, of which the last is
//             best, and the others are a window that only moves on: O(L).
std::vector<LayerRun> Fuse(Fusion fusion, const Timeline& timeline, const Link& link);

// At most `parts` runs of nearly equal bytes: run k ends at the layer whose end is nearest to k/parts of all bytes.
std::vector<LayerRun> FuseBalanced(const Timeline& timeline, int parts);

// When the last transfer of these runs ends: sent in order, each when its last gradient is ready and the link is free.
double LastTransferEndUs(const Timeline& timeline, std::span<const LayerRun> runs, const Link& link);

// When the gradients of a run are all there.
double RunReadyUs(const Timeline& timeline, const LayerRun& run);

}  // namespace weft
