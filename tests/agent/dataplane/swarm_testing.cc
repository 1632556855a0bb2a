#include "tests/agent/dataplane/swarm_testing.h"

#include <thread>

#include "common/check.h"
#include "common/math/sketch.h"

namespace weft {

SwarmNodes::SwarmNodes(const SwarmShape& shape, const std::vector<float>& start) {
  const std::size_t bytes = SwarmNode::RegisterBytes(shape.quantizer, start.size());
  const auto nodes = static_cast<std::size_t>(shape.nodes);
  registers_.resize(nodes);
  if (shape.medium == SwarmMedium::kSharedMemory) {
    memory_ = std::make_unique<DirectMemory>(shape.nodes, bytes);
    for (std::size_t i = 0; i < nodes; ++i) {
      registers_[i] = std::make_unique<DirectRegisters>(*memory_, static_cast<int>(i));
    }
  } else {
    network_ = std::make_unique<LoopbackNetwork>(shape.nodes, shape.network);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < nodes; ++i) {
      threads.emplace_back([this, i, bytes, &shape] {
        auto made = network_->endpoint(static_cast<int>(i))
                        .MakeRegisters({.ranks = shape.nodes, .bytes = bytes, .mechanism = RegisterMechanism::kService},
                                       Clock::Steady().Now() + std::chrono::seconds(30));
        WEFT_CHECK(made.ok()) << made.status().ToString();
        registers_[i] = std::move(made).value();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  for (std::size_t i = 0; i < nodes; ++i) {
    const SwarmNodeOptions options{.rank = static_cast<int>(i),
                                   .ranks = shape.nodes,
                                   .quantizer = shape.quantizer,
                                   .exchange_timeout = shape.exchange_timeout,
                                   .claim_timeout = shape.claim_timeout,
                                   .read_pending = shape.read_pending};
    held_.push_back(std::make_unique<HeldRegisters>(*registers_[i]));
    nodes_.push_back(
        std::make_unique<SwarmNode>(options, start, *held_[i], std::make_shared<SwarmWaker>(), *shape.clock));
    Publish(static_cast<int>(i));
  }
}

void SwarmNodes::Publish(int i) {
  const Status status = (*this)[i].Publish();
  WEFT_CHECK(status.ok()) << status.ToString();
}

void SwarmNodes::StepAndPublish(int i, const std::vector<float>& displacement) {
  (*this)[i].AddDisplacement(displacement);
  Publish(i);
}

double SwarmNodes::Variance() const {
  std::vector<std::vector<float>> models;
  for (const auto& node : nodes_) models.emplace_back(node->model().begin(), node->model().end());
  return ModelVariance(models);
}

double SwarmNodes::SettledVariance() {
  for (const auto& node : nodes_) node->Fold();
  return Variance();
}

std::vector<double> SwarmNodes::SettledSum() {
  std::vector<double> sum(nodes_.front()->model().size(), 0.0);
  for (const auto& node : nodes_) {
    node->Fold();
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += static_cast<double>(node->model()[k]);
  }
  return sum;
}

}  // namespace weft
