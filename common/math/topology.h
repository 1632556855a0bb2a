// Overlay graphs: which nodes average with which. Undirected, without loops or double edges, connected.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"

namespace weft {

inline constexpr int kMaxTopologyNodes = 1024;

enum class TopologyType { kComplete, kRing, kTorus, kHypercube, kRandomRegular, kDragonfly, kEdgeList };

// As job files spell them, in the enumeration's order.
const std::vector<std::string>& TopologyNames();

struct TopologySpec {
  TopologyType type = TopologyType::kComplete;
  int degree = 0;                          // RandomRegular
  std::vector<std::pair<int, int>> edges;  // EdgeList
};

class Topology {
 public:
  // `seed` draws RandomRegular; the others ignore it. For 1 to kMaxTopologyNodes nodes:
  //   Complete       any number; a node alone has no neighbours.
  //   Ring           2 or more; of 2 a single edge.
  //   Torus          a x b, both 3 or more, as near to a square as can be.
  //   Hypercube      a power of two, 2 or more.
  //   RandomRegular  degree below nodes, nodes * degree even; degree 1 for 2 nodes only.
  //   Dragonfly      a (a h + 1), a >= 2, h >= 1: see topology.cc.
  //   EdgeList       2 or more; edges between ranks below nodes, no loop, none twice, connected.
  // INVALID_ARGUMENT names the field and the rule: "topology.type: Hypercube needs a power of two nodes, not 3"; a
  // disconnected graph with its components: "topology.edges: the graph falls apart into {0, 1} and {2, 3}".
  static Result<Topology> Make(const TopologySpec& spec, int nodes, std::uint64_t seed);

  int nodes() const { return static_cast<int>(neighbours_.size()); }
  // In ascending order.
  std::span<const int> neighbours(int node) const { return neighbours_[static_cast<std::size_t>(node)]; }
  int degree(int node) const { return static_cast<int>(neighbours(node).size()); }
  // (a, b) with a < b, in ascending order.
  std::vector<std::pair<int, int>> edges() const;

 private:
  explicit Topology(std::vector<std::vector<int>> neighbours) : neighbours_(std::move(neighbours)) {}

  std::vector<std::vector<int>> neighbours_;
};

struct TopologyFacts {
  double lambda2 = 0;  // the second smallest eigenvalue of the Laplacian D - A
  int min_degree = 0;  // rho_min
  int max_degree = 0;  // rho_max
  std::int64_t edges = 0;
};
// O(nodes^3): a quarter of a second for 1024.
TopologyFacts FactsOf(const Topology& topology);

// Row `node` of the doubly stochastic W of Metropolis and Hastings: W_ij = 1 / (1 + max(d_i, d_j)) for neighbours, the
// rest on the diagonal. Aligned with neighbours(node); the diagonal comes last. On the complete graph all are 1/n.
std::vector<double> MetropolisWeights(const Topology& topology, int node);

}  // namespace weft
