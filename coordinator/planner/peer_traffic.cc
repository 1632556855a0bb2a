#include "coordinator/planner/peer_traffic.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "common/check.h"
#include "common/math/push_sum.h"

namespace weft {
namespace {

constexpr double kLeastChance = 1e-9;
constexpr std::int64_t kBlockFloats = 4096;
// Coordinates are stored in groups of so many, from a multiple of so many bytes.
constexpr std::int64_t kCodeGroup = 64;
constexpr std::int64_t kHeaderBytes = 32;
constexpr std::int64_t kDeltaBlockBytes = 4;     // scale
constexpr std::int64_t kRegisterBlockBytes = 8;  // scale, hash
// What is around a code in a node's registers.
constexpr std::int64_t kRegisterWords = 3;  // version, checksum, version
constexpr std::int64_t kCellWords = 2;      // writer and number, checksum
constexpr std::int64_t kReadHeaderBytes = 128;

std::int64_t RoundUp(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

// Header and blocks of the quantizer, in whole words.
std::int64_t CodeBytes(std::int64_t floats, int bits, std::int64_t block_bytes) {
  if (bits == 0) return RoundUp(kHeaderBytes, kCodeGroup) + RoundUp(4 * floats, 8);
  const std::int64_t blocks = (floats + kBlockFloats - 1) / kBlockFloats;
  return RoundUp(kHeaderBytes + blocks * block_bytes, kCodeGroup) + RoundUp(floats, kCodeGroup) / 8 * bits;
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
      std::sort(all.begin(), all.end());
    }
  }
  return out;
}

double PushesMet(const PlanRequest& request) {
  const std::vector<std::vector<int>> neighbours = NeighboursOf(StrategyType::kSGP, request);
  const int rounds = DegreesOf(StrategyType::kSGP, request).most;
  double sum = 0;
  for (int t = 0; t < rounds; ++t) {
    std::vector<int> received(neighbours.size(), 0);
    for (int node = 0; node < request.workers; ++node) {
      const int to = PushReceiver(neighbours[static_cast<std::size_t>(node)], node, t);
      ++received[static_cast<std::size_t>(to)];
    }
    sum += *std::max_element(received.begin(), received.end());
  }
  return sum / rounds;
}

std::vector<double> MeetingOdds(StrategyType strategy, const PlanRequest& request) {
  const std::vector<std::vector<int>> neighbours = NeighboursOf(strategy, request);
  std::vector<double> odds(1, 0);
  for (const std::vector<int>& who : neighbours) {
    double drawn = 0;  // how many draw this worker, in the mean
    for (const int i : who) drawn += 1.0 / static_cast<int>(neighbours[static_cast<std::size_t>(i)].size());
    // Seen from one that does, the binomial distribution of the others; until what is left is nothing.
    const int others = static_cast<int>(who.size()) - 1;
    const double each = drawn / (others + 1);
    const double share = drawn / request.workers;
    double chance = share * std::pow(1 - each, others);
    for (int k = each < 1 ? 0 : others; k <= others; ++k) {
      if (each >= 1) chance = share;
      if (k > drawn && chance < kLeastChance) break;
      odds.resize(std::max(odds.size(), static_cast<std::size_t>(k) + 1), 0);
      odds[static_cast<std::size_t>(k)] += chance;
      chance *= static_cast<double>(others - k) / (k + 1) * each / (1 - each);
    }
  }
  return odds;
}

double RegisterReadBytes(std::int64_t floats, int bits) {
  const std::int64_t block_bytes = bits == 0 ? 0 : kRegisterBlockBytes;
  return static_cast<double>(kReadHeaderBytes + CodeBytes(floats, bits, block_bytes) + 8 * kRegisterWords);
}

double CellBytes(std::int64_t floats, int bits) {
  return static_cast<double>(CodeBytes(floats, bits, kDeltaBlockBytes) + 8 * kCellWords);
}

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
      sent = size + 4;
      break;
    case StrategyType::kADPSGD:
      sent = 2 * size + 4;
      break;
    case StrategyType::kSwarm: {
      const std::int64_t floats = FloatsOf(bytes);
      const int bits = request.peers.quantization_bits;
      sent = RegisterReadBytes(floats, bits) + (1 + kPendingDeltas) * CellBytes(floats, bits);
      break;
    }
    default:
      WEFT_CHECK(false) << "a strategy with servers";
  }
  return {.sent_bytes = sent, .received_bytes = sent};
}

}  // namespace weft
