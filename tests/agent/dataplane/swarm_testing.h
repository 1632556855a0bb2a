// Nodes of SwarmSGD without threads of their own, whose interactions a test draws, one at a time or from its threads.
#pragma once

#include <memory>
#include <vector>

#include "agent/dataplane/swarm_node.h"
#include "agent/transport/loopback.h"
#include "tests/agent/dataplane/direct_registers.h"
#include "tests/agent/dataplane/held_registers.h"

namespace weft {

enum class SwarmMedium { kSharedMemory, kService };

struct SwarmShape {
  int nodes = 2;
  SwarmMedium medium = SwarmMedium::kSharedMemory;
  QuantizerOptions quantizer{.bits = 0, .rotation = false, .seed = 1};
  Duration exchange_timeout = std::chrono::seconds(30);
  Duration claim_timeout = std::chrono::seconds(30);
  bool read_pending = true;
  LoopbackOptions network{};
  Clock* clock = &Clock::Steady();
};

class SwarmNodes {
 public:
  // All have published X_0 = `start`.
  SwarmNodes(const SwarmShape& shape, const std::vector<float>& start);

  int size() const { return static_cast<int>(nodes_.size()); }
  SwarmNode& operator[](int i) { return *nodes_[static_cast<std::size_t>(i)]; }
  HeldRegisters& registers(int i) { return *held_[static_cast<std::size_t>(i)]; }
  LoopbackNetwork& network() { return *network_; }

  // Step 5 without a displacement, and with one.
  void Publish(int i);
  void StepAndPublish(int i, const std::vector<float>& displacement);
  // Gamma over the X_i to full precision, without what waits in the queues.
  double Variance() const;
  // The same with every queue folded first, without publishing.
  double SettledVariance();
  // sum_i X_i, with every queue folded first.
  std::vector<double> SettledSum();

 private:
  std::unique_ptr<DirectMemory> memory_;
  std::unique_ptr<LoopbackNetwork> network_;
  std::vector<std::unique_ptr<Registers>> registers_;
  std::vector<std::unique_ptr<HeldRegisters>> held_;
  std::vector<std::unique_ptr<SwarmNode>> nodes_;
};

}  // namespace weft
