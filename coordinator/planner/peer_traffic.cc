#include "coordinator/planner/peer_traffic.h"

#include <algorithm>
#include <optional>

#include "common/check.h"

namespace weft {
namespace {

constexpr std::int64_t kBlockFloats = 4096;
constexpr double kHeaderBytes = 32;
constexpr double kBlockHeaderBytes = 16;

double CodeBytes(std::int64_t floats, int bits) {
  const std::int64_t blocks = (floats + kBlockFloats - 1) / kBlockFloats;
  const double width = bits == 0 ? 32 : bits;
  return kHeaderBytes + kBlockHeaderBytes * static_cast<double>(blocks) + width / 8 * static_cast<double>(floats);
}

Degrees DegreesIn(const Topology& topology) {
  Degrees out;
  for (int i = 0; i < topology.nodes(); ++i) {
    out.mean += static_cast<double>(topology.degree(i)) / topology.nodes();
    out.most = std::max(out.most, topology.degree(i));
  }
  return out;
}

}  // namespace

Degrees DegreesOf(StrategyType strategy, const PlanRequest& request) {
  const int others = request.workers - 1;
  int degree = 0;
  switch (strategy) {
    case StrategyType::kSwarm:
      if (request.peers.swarm_topology.has_value()) return DegreesIn(*request.peers.swarm_topology);
      degree = others;
      break;
    case StrategyType::kDPSGD:
    case StrategyType::kADPSGD:
    case StrategyType::kSGP:
      if (request.peers.gossip_topology.has_value()) return DegreesIn(*request.peers.gossip_topology);
      degree = std::min(2, others);
      break;
    default:
      degree = std::min(1, others);
  }
  return {.mean = static_cast<double>(degree), .most = degree};
}

std::vector<std::vector<int>> NeighboursOf(StrategyType strategy, const PlanRequest& request) {
  const bool swarm = strategy == StrategyType::kSwarm;
  const std::optional<Topology>& given = swarm ? request.peers.swarm_topology : request.peers.gossip_topology;
  std::vector<std::vector<int>> out(static_cast<std::size_t>(request.workers));
  for (int w = 0; w < request.workers; ++w) {
    std::vector<int>& all = out[static_cast<std::size_t>(w)];
    if (given.has_value()) {
      all.assign(given->neighbours(w).begin(), given->neighbours(w).end());
    } else if (swarm) {
      for (int other = 0; other < request.workers; ++other) {
        if (other != w) all.push_back(other);
      }
    } else if (request.workers > 1) {
      all.push_back((w + 1) % request.workers);
      if (request.workers > 2) all.push_back((w + request.workers - 1) % request.workers);
    }
  }
  return out;
}

double RegisterPrefixBytes(std::int64_t floats, int bits) { return CodeBytes(floats, bits); }
double DeltaBytes(std::int64_t floats, int bits) { return CodeBytes(floats, bits); }

Traffic TrafficOf(StrategyType strategy, const PlanRequest& request, std::int64_t bytes) {
  if (request.workers == 1) return {};
  const auto size = static_cast<double>(bytes);
  double sent = 0;
  switch (strategy) {
    case StrategyType::kAllReduce:
      sent = 2 * (size + 4) * (request.workers - 1) / request.workers;
      break;
    case StrategyType::kLocalSGD:
      sent = 2 * size * (request.workers - 1) / request.workers;
      break;
    case StrategyType::kDPSGD:
      sent = size * DegreesOf(strategy, request).mean;
      break;
    case StrategyType::kSGP:
      sent = size;
      break;
    case StrategyType::kADPSGD:
      sent = 2 * size;
      break;
    case StrategyType::kSwarm: {
      const std::int64_t floats = FloatsOf(bytes);
      const int bits = request.peers.quantization_bits;
      sent = RegisterPrefixBytes(floats, bits) + DeltaBytes(floats, bits);
      break;
    }
    default:
      WEFT_CHECK(false) << "a strategy with servers";
  }
  return {.sent_bytes = sent, .received_bytes = sent};
}

}  // namespace weft
