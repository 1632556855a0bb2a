#include "common/math/push_sum.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <string>
#include <vector>

namespace weft {

int PushReceiver(std::span<const int> neighbours, int node, std::int64_t iteration) {
  const auto below = std::lower_bound(neighbours.begin(), neighbours.end(), node) - neighbours.begin();
  return neighbours[static_cast<std::size_t>(below + iteration) % neighbours.size()];
}

int PushReceiver(const Topology& topology, int node, std::int64_t iteration) {
  return PushReceiver(topology.neighbours(node), node, iteration);
}

double SmallestPushWeightLog2(const Topology& topology, int overlap) {
  const auto nodes = static_cast<std::size_t>(topology.nodes());
  int largest_degree = 0;
  for (int node = 0; node < topology.nodes(); ++node) {
    largest_degree = std::max(largest_degree, topology.degree(node));
  }
  std::vector<double> weights(nodes, 1.0);
  std::deque<std::vector<double>> under_way;  // what arrives, by iteration
  double smallest = 1;
  for (std::int64_t iteration = 1; iteration <= 3 * (largest_degree + overlap); ++iteration) {
    std::vector<double>& sent = under_way.emplace_back(nodes, 0.0);
    for (std::size_t node = 0; node < nodes; ++node) {
      weights[node] /= 2;
      sent[static_cast<std::size_t>(PushReceiver(topology, static_cast<int>(node), iteration))] += weights[node];
      smallest = std::min(smallest, weights[node]);
    }
    if (static_cast<int>(under_way.size()) <= overlap) continue;
    for (std::size_t node = 0; node < nodes; ++node) weights[node] += under_way.front()[node];
    under_way.pop_front();
  }
  return std::log2(smallest);
}

Status CheckPushSum(const Topology& topology, int overlap) {
  const double smallest = SmallestPushWeightLog2(topology, overlap);
  if (smallest >= kLeastPushWeightLog2) return OkStatus();
  return InvalidArgumentError(
      "topology: a weight of SGP is halved in each iteration in which no neighbour sends there, " +
      std::string("here down to 2^") + std::to_string(std::lround(smallest)) + ", below 2^" +
      std::to_string(kLeastPushWeightLog2) +
      ": a node must hear from a neighbour more often (smaller degrees, or a smaller overlap)");
}

}  // namespace weft
