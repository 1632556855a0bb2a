#include "agent/core/sampler.h"

#include <cmath>

#include "common/check.h"
#include "common/math/counter_hash.h"

namespace weft {
namespace {

// Which of a node's draws; in the upper half of the hash's stream, beside the node.
enum class Draw : std::uint64_t { kPartner = 1, kLocalSteps = 2 };

std::uint64_t Bits(Draw draw, std::uint64_t seed, int node, std::uint64_t interaction) {
  return CounterHash(seed, (static_cast<std::uint64_t>(draw) << 32) | static_cast<std::uint32_t>(node), interaction);
}

}  // namespace

int DrawPartner(const Topology& topology, std::uint64_t seed, int node, std::uint64_t interaction) {
  const auto neighbours = topology.neighbours(node);
  WEFT_CHECK(!neighbours.empty()) << "node " << node << " has no neighbour to draw";
  return neighbours[BelowBound(Bits(Draw::kPartner, seed, node, interaction), neighbours.size())];
}

int DrawLocalSteps(const LocalSteps& steps, std::uint64_t seed, int node, std::uint64_t interaction) {
  WEFT_CHECK(steps.mean >= 1) << steps.mean << " local steps";
  if (!steps.geometric || steps.mean == 1) return steps.mean;
  // The inverse of P[more than h] = (1 - 1/H)^h. At most 1 + 37 H, since the unit is at least 2^-53.
  const double unit = UnitInterval(Bits(Draw::kLocalSteps, seed, node, interaction));
  return 1 + static_cast<int>(std::log(unit) / std::log1p(-1.0 / steps.mean));
}

}  // namespace weft
