#include "common/math/topology.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "common/math/counter_hash.h"

namespace weft {
namespace {

using Neighbours = std::vector<std::vector<int>>;

Neighbours NoEdges(int nodes) { return Neighbours(static_cast<std::size_t>(nodes)); }

void Join(Neighbours& graph, int a, int b) {
  graph[static_cast<std::size_t>(a)].push_back(b);
  graph[static_cast<std::size_t>(b)].push_back(a);
}

bool Joined(const Neighbours& graph, int a, int b) {
  const std::vector<int>& of_a = graph[static_cast<std::size_t>(a)];
  return std::find(of_a.begin(), of_a.end(), b) != of_a.end();
}

// The nodes of each component, both in ascending order.
std::vector<std::vector<int>> Components(const Neighbours& graph) {
  std::vector<std::vector<int>> components;
  std::vector<bool> seen(graph.size(), false);
  for (std::size_t first = 0; first < graph.size(); ++first) {
    if (seen[first]) continue;
    seen[first] = true;
    std::vector<int> component = {static_cast<int>(first)};
    for (std::size_t at = 0; at < component.size(); ++at) {
      for (const int next : graph[static_cast<std::size_t>(component[at])]) {
        if (seen[static_cast<std::size_t>(next)]) continue;
        seen[static_cast<std::size_t>(next)] = true;
        component.push_back(next);
      }
    }
    std::sort(component.begin(), component.end());
    components.push_back(std::move(component));
  }
  return components;
}

Neighbours Complete(int nodes) {
  Neighbours graph = NoEdges(nodes);
  for (int a = 0; a < nodes; ++a) {
    for (int b = a + 1; b < nodes; ++b) Join(graph, a, b);
  }
  return graph;
}

Result<Neighbours> Ring(int nodes) {
  if (nodes < 2) return InvalidArgumentError("topology.type: Ring needs 2 nodes or more, not " + std::to_string(nodes));
  Neighbours graph = NoEdges(nodes);
  for (int a = 0; a + 1 < nodes; ++a) Join(graph, a, a + 1);
  if (nodes > 2) Join(graph, nodes - 1, 0);
  return graph;
}

Result<Neighbours> Torus(int nodes) {
  int rows = static_cast<int>(std::sqrt(static_cast<double>(nodes)));
  while (rows >= 3 && nodes % rows != 0) --rows;
  if (rows < 3) {
    return InvalidArgumentError("topology.type: Torus needs a x b nodes with a and b 3 or more, not " +
                                std::to_string(nodes));
  }
  const int columns = nodes / rows;
  Neighbours graph = NoEdges(nodes);
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const int node = row * columns + column;
      Join(graph, node, row * columns + (column + 1) % columns);
      Join(graph, node, (row + 1) % rows * columns + column);
    }
  }
  return graph;
}

Result<Neighbours> Hypercube(int nodes) {
  if (nodes < 2 || (nodes & (nodes - 1)) != 0) {
    return InvalidArgumentError("topology.type: Hypercube needs a power of two nodes" +
                                std::string(nodes < 2 ? ", 2 or more" : "") + ", not " + std::to_string(nodes));
  }
  Neighbours graph = NoEdges(nodes);
  for (int a = 0; a < nodes; ++a) {
    for (int bit = 1; bit < nodes; bit *= 2) {
      if ((a & bit) == 0) Join(graph, a, a | bit);
    }
  }
  return graph;
}

// A draw by counter.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  std::size_t Below(std::size_t bound) { return BelowBound(CounterHash(seed_, kStream, index_++), bound); }

 private:
  static constexpr std::uint64_t kStream = 0x746f706f6c6f6779;  // "topology"
  std::uint64_t seed_;
  std::uint64_t index_ = 0;
};

// Whether two of the nodes could still be joined. `points` names each node once for each neighbour that it lacks.
bool CanGoOn(const Neighbours& graph, std::vector<int> points) {
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t k = i + 1; k < points.size(); ++k) {
      if (!Joined(graph, points[i], points[k])) return true;
    }
  }
  return false;
}

// Steger and Wormald 1999: each node has `degree` points; two free points are drawn until all are paired, and a pair
// that would make a loop or a double edge is drawn again. Asymptotically uniform over the regular graphs. None when the
// points that are left can't be paired.
std::optional<Neighbours> DrawRegular(int nodes, int degree, Dice& dice) {
  Neighbours graph = NoEdges(nodes);
  std::vector<int> points;
  for (int node = 0; node < nodes; ++node) points.insert(points.end(), static_cast<std::size_t>(degree), node);
  const auto take = [&] {
    std::swap(points[dice.Below(points.size())], points.back());
    const int node = points.back();
    points.pop_back();
    return node;
  };
  std::size_t rejected = 0;
  while (!points.empty()) {
    const int a = take();
    const int b = take();
    if (a != b && !Joined(graph, a, b)) {
      Join(graph, a, b);
      rejected = 0;
      continue;
    }
    points.push_back(a);
    points.push_back(b);
    if (++rejected % 64 == 0 && !CanGoOn(graph, points)) return std::nullopt;
  }
  return graph;
}

Neighbours Complement(const Neighbours& graph) {
  const int nodes = static_cast<int>(graph.size());
  Neighbours out = NoEdges(nodes);
  for (int a = 0; a < nodes; ++a) {
    for (int b = a + 1; b < nodes; ++b) {
      if (!Joined(graph, a, b)) Join(out, a, b);
    }
  }
  return out;
}

Result<Neighbours> RandomRegular(int nodes, int degree, std::uint64_t seed) {
  const std::string of = "topology.degree: " + std::to_string(degree);
  if (nodes < 2) {
    return InvalidArgumentError("topology.type: RandomRegular needs 2 nodes or more, not " + std::to_string(nodes));
  }
  if (degree < 1) return InvalidArgumentError(of + " is below 1");
  if (degree >= nodes) return InvalidArgumentError(of + " is not below the number of nodes, " + std::to_string(nodes));
  if (nodes % 2 != 0 && degree % 2 != 0) {
    return InvalidArgumentError(of + " times " + std::to_string(nodes) + " nodes is odd, but each edge has two ends");
  }
  if (degree == 1 && nodes > 2) {
    return InvalidArgumentError(of + " makes pairs that nothing joins; " + std::to_string(nodes) +
                                " nodes need 2 or more");
  }
  // Dense graphs, which pairing rarely finishes, are drawn as what they lack.
  const bool dense = degree > (nodes - 1) / 2;
  Dice dice(seed);
  while (true) {
    std::optional<Neighbours> graph = DrawRegular(nodes, dense ? nodes - 1 - degree : degree, dice);
    if (!graph) continue;
    if (dense) graph = Complement(*graph);
    // From degree 3 on nearly all are; of degree 2 one in about sqrt(nodes).
    if (Components(*graph).size() == 1) return *std::move(graph);
  }
}

// The dragonfly of Kim, Dally, Scott and Abts (ISCA 2008, section 3), its routers as nodes: groups of a nodes, each
// group a complete graph; each node has h links to other groups; a h + 1 groups, so that one link joins each two.
// Which node has a group's link to which other is their figure 5's consecutive order.
struct Dragonfly {
  int group = 0;  // a
  int links = 0;  // h
  int nodes() const { return group * (group * links + 1); }
};

// Of those with so many nodes the one nearest to a = 2h, which balances the load on local and global links (their
// section 3.1).
std::optional<Dragonfly> FindDragonfly(int nodes) {
  std::optional<Dragonfly> best;
  for (int a = 2; a * (a + 1) <= nodes; ++a) {
    if (nodes % a != 0 || (nodes / a - 1) % a != 0) continue;
    const Dragonfly found{.group = a, .links = (nodes / a - 1) / a};
    const auto imbalance = [](const Dragonfly& d) { return std::abs(d.group - 2 * d.links); };
    if (!best || imbalance(found) <= imbalance(*best)) best = found;
  }
  return best;
}

std::string NearestDragonflies(int nodes) {
  int below = nodes;
  while (below > 0 && !FindDragonfly(below)) --below;
  int above = nodes;
  while (!FindDragonfly(above)) ++above;
  return below > 0 ? std::to_string(below) + " and " + std::to_string(above) + " would do"
                   : std::to_string(above) + " is the fewest";
}

Result<Neighbours> MakeDragonfly(int nodes) {
  const std::optional<Dragonfly> shape = FindDragonfly(nodes);
  if (!shape) {
    return InvalidArgumentError(
        "topology.type: Dragonfly needs a(ah + 1) nodes with a 2 or more and h 1 or more, not " +
        std::to_string(nodes) + "; " + NearestDragonflies(nodes));
  }
  const int groups = shape->group * shape->links + 1;
  const auto node_of = [&](int group, int member) { return group * shape->group + member; };
  Neighbours graph = NoEdges(nodes);
  for (int group = 0; group < groups; ++group) {
    for (int a = 0; a < shape->group; ++a) {
      for (int b = a + 1; b < shape->group; ++b) Join(graph, node_of(group, a), node_of(group, b));
    }
    // A group counts the others in order and leaves itself out.
    for (int other = group + 1; other < groups; ++other) {
      Join(graph, node_of(group, (other - 1) / shape->links), node_of(other, group / shape->links));
    }
  }
  return graph;
}

std::string ShowComponents(const std::vector<std::vector<int>>& components) {
  constexpr std::size_t kMost = 8;  // components, and nodes of each
  std::string out;
  for (std::size_t i = 0; i < std::min(components.size(), kMost); ++i) {
    const std::vector<int>& nodes = components[i];
    if (i > 0) out += i + 1 == components.size() ? " and " : ", ";
    out += "{";
    for (std::size_t k = 0; k < std::min(nodes.size(), kMost); ++k) {
      out += (k > 0 ? ", " : "") + std::to_string(nodes[k]);
    }
    out += nodes.size() > kMost ? ", … " + std::to_string(nodes.size()) + " nodes}" : "}";
  }
  if (components.size() > kMost) out += " and " + std::to_string(components.size() - kMost) + " more";
  return out;
}

Result<Neighbours> FromEdges(int nodes, const std::vector<std::pair<int, int>>& edges) {
  if (nodes < 2) {
    return InvalidArgumentError("topology.type: EdgeList needs 2 nodes or more, not " + std::to_string(nodes));
  }
  Neighbours graph = NoEdges(nodes);
  for (const auto& [a, b] : edges) {
    const std::string edge = "topology.edges: " + std::to_string(a) + "-" + std::to_string(b);
    if (std::min(a, b) < 0 || std::max(a, b) >= nodes) {
      return InvalidArgumentError(edge + " names a node that is not in 0 .. " + std::to_string(nodes - 1));
    }
    if (a == b) return InvalidArgumentError(edge + " joins a node with itself");
    if (Joined(graph, a, b)) return InvalidArgumentError(edge + " stands there twice");
    Join(graph, a, b);
  }
  if (const auto components = Components(graph); components.size() > 1) {
    return InvalidArgumentError("topology.edges: the graph falls apart into " + ShowComponents(components));
  }
  return graph;
}

Result<Neighbours> MakeNeighbours(const TopologySpec& spec, int nodes, std::uint64_t seed) {
  switch (spec.type) {
    case TopologyType::kComplete:
      return Complete(nodes);
    case TopologyType::kRing:
      return Ring(nodes);
    case TopologyType::kTorus:
      return Torus(nodes);
    case TopologyType::kHypercube:
      return Hypercube(nodes);
    case TopologyType::kRandomRegular:
      return RandomRegular(nodes, spec.degree, seed);
    case TopologyType::kDragonfly:
      return MakeDragonfly(nodes);
    case TopologyType::kEdgeList:
      return FromEdges(nodes, spec.edges);
  }
  WEFT_CHECK(false) << "a topology of type " << static_cast<int>(spec.type);
  return Neighbours{};
}

}  // namespace

const std::vector<std::string>& TopologyNames() {
  static const std::vector<std::string> kNames = {"Complete",      "Ring",      "Torus",   "Hypercube",
                                                  "RandomRegular", "Dragonfly", "EdgeList"};
  return kNames;
}

Result<Topology> Topology::Make(const TopologySpec& spec, int nodes, std::uint64_t seed) {
  if (nodes < 1 || nodes > kMaxTopologyNodes) {
    return InvalidArgumentError("topology: " + std::to_string(nodes) + " nodes are not 1 to " +
                                std::to_string(kMaxTopologyNodes));
  }
  WEFT_ASSIGN_OR_RETURN(Neighbours neighbours, MakeNeighbours(spec, nodes, seed));
  for (std::vector<int>& of_node : neighbours) std::sort(of_node.begin(), of_node.end());
  return Topology(std::move(neighbours));
}

std::vector<std::pair<int, int>> Topology::edges() const {
  std::vector<std::pair<int, int>> out;
  for (int a = 0; a < nodes(); ++a) {
    for (const int b : neighbours(a)) {
      if (a < b) out.emplace_back(a, b);
    }
  }
  return out;
}

std::vector<double> MetropolisWeights(const Topology& topology, int node) {
  std::vector<double> weights;
  double rest = 1;
  for (const int neighbour : topology.neighbours(node)) {
    weights.push_back(1.0 / (1 + std::max(topology.degree(node), topology.degree(neighbour))));
    rest -= weights.back();
  }
  weights.push_back(rest);
  return weights;
}

}  // namespace weft
