#include <Eigen/Dense>
#include <algorithm>

#include "common/math/topology.h"

namespace weft {

TopologyFacts FactsOf(const Topology& topology) {
  const int nodes = topology.nodes();
  TopologyFacts facts;
  facts.min_degree = facts.max_degree = topology.degree(0);
  Eigen::MatrixXd laplacian = Eigen::MatrixXd::Zero(nodes, nodes);
  for (int node = 0; node < nodes; ++node) {
    const int degree = topology.degree(node);
    facts.min_degree = std::min(facts.min_degree, degree);
    facts.max_degree = std::max(facts.max_degree, degree);
    facts.edges += degree;
    laplacian(node, node) = degree;
    for (const int neighbour : topology.neighbours(node)) laplacian(node, neighbour) = -1;
  }
  facts.edges /= 2;
  if (nodes == 1) return facts;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(laplacian, Eigen::EigenvaluesOnly);
  WEFT_CHECK(solver.info() == Eigen::Success) << "the Laplacian of " << nodes << " nodes has no eigenvalues";
  facts.lambda2 = solver.eigenvalues()(1);
  return facts;
}

}  // namespace weft
