// Push-sum over an overlay (SGP: Assran et al. 2019, Algorithms 1 and 2): who sends to whom, and how small a weight
// gets.
#pragma once

#include <cstdint>
#include <span>

#include "common/math/topology.h"
#include "common/status.h"

namespace weft {

// The neighbour to which `node` sends in an iteration: number (k + t) mod degree of `neighbours`, which are in
// ascending order, k of them below `node`. On a ring and the complete graph (where k is `node`) all send equally far
// ahead, a permutation: each hears from one. With t alone nearly all would send to the same one on the complete graph.
int PushReceiver(std::span<const int> neighbours, int node, std::int64_t iteration);
int PushReceiver(const Topology& topology, int node, std::int64_t iteration);

// log2 of the smallest weight w that a node comes to. Each iteration halves w, and a neighbour's half comes when its
// turn comes round, and `overlap` iterations later: a leaf of a star waits for as many iterations as there are leaves.
// From w = 1 everywhere, over three rounds of the largest degree; later ones repeat. O(nodes * (largest degree +
// overlap)).
double SmallestPushWeightLog2(const Topology& topology, int overlap);

// Floats x = w z keep all of their digits for |z| down to 2^-30.
inline constexpr int kLeastPushWeightLog2 = -96;

// INVALID_ARGUMENT: a node's weight falls below 2^kLeastPushWeightLog2.
Status CheckPushSum(const Topology& topology, int overlap);

}  // namespace weft
