// SwarmSGD's draws (section 4 of the design; the paper's Algorithms 1 and 2): with whom a node averages, and how many
// steps of its own it takes before. Each is a function of (seed, node, interaction number) and of nothing else, so that
// a run can be repeated and a node that resumes goes on where it was.
#pragma once

#include <cstdint>

#include "common/math/topology.h"

namespace weft {

// Uniform among the node's neighbours, of which it needs one at least. `interaction` counts the node's own, from 0.
int DrawPartner(const Topology& topology, std::uint64_t seed, int node, std::uint64_t interaction);

struct LocalSteps {
  int mean = 4;            // H, 1 or more
  bool geometric = false;  // on {1, 2, ...}: P[h] = (1 - 1/H)^(h-1) / H; else always H
};

// Steps before interaction number `interaction`.
int DrawLocalSteps(const LocalSteps& steps, std::uint64_t seed, int node, std::uint64_t interaction);

}  // namespace weft
