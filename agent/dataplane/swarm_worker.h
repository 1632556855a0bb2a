// SwarmSGD as a data plane (docs/design/swarm.md): the trainer's side. Each worker steps by itself; after every H local
// steps (the plan's period, or geometric with that mean) it adds what its exchanges have brought meanwhile and goes on,
// without a wait for another's steps: only for the own interaction of the round before, where it has not ended. H
// counts iterations, also those without samples. The rest happens on the exchanger's thread (swarm_exchanger.h). With a
// `max_lead` it waits for neighbours that are further behind (swarm_pace.h).
//
// Per round of H iterations and worker, on the wire: one interaction (swarm_node.h), 5 + k operations, k deltas waiting
// at the partner (1 on average where all are equally fast). With b bits about (2 + k) d b/8 bytes for d weights, of
// which one d b/8 is sent and the rest received, whatever the number of workers. Beyond that nothing, but
// 2 (P - 1) control messages in each Drain and 3 (P - 1) in Finish.
//
// One thread calls, except Statistics.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "agent/core/sampler.h"
#include "agent/dataplane/peer_worker.h"
#include "agent/dataplane/slow_momentum.h"
#include "agent/dataplane/swarm_exchanger.h"
#include "agent/dataplane/swarm_pace.h"
#include "agent/transport/registers.h"

namespace weft {

class SwarmWorker : public PeerWorker {
 public:
  // All ranks make theirs and wait for each other. `mechanism`: of the registers, for tests. INVALID_ARGUMENT: weights
  // that are not finite; other errors are the transport's.
  static Result<std::unique_ptr<DataPlane>> Make(const PeerPlaneParts& parts,
                                                 std::optional<RegisterMechanism> mechanism = std::nullopt);

  Status BeginIteration(std::int64_t iteration) override;
  Status GradientReady(int layer, std::int64_t samples) override;
  Result<IterationRecord> EndIteration() override;
  // Afterwards no delta is pending and none is on its way: the weights alone hold everything.
  Status Drain() override;
  Status Finish() override;
  bool synchronous() const override { return false; }
  ExchangeStatistics Statistics() const override;
  std::vector<PlaneTensor> SaveState() const override;
  Status RestoreState(std::int64_t iteration, const std::vector<PlaneTensor>& tensors) override;

 private:
  explicit SwarmWorker(const PeerPlaneParts& parts);

  Status Open(const PeerPlaneParts& parts, std::optional<RegisterMechanism> mechanism);
  void DrawRound();
  void EndRound();
  void StepOuter();
  // Behind `iteration`.
  void Restore(const SwarmExchanger::Changes& changes, std::int64_t iteration);
  void ForgetOptimizers(std::int64_t iteration);
  void Add(const std::vector<float>& change);
  // Requires that the exchanger is parked: weights and node hold the same afterwards, and the others see it.
  enum class NotFinite { kRestore, kKeep };
  Status SettleNode(NotFinite weights);
  Status DrainAll(NotFinite weights);
  Status RestoreTensors(const std::vector<PlaneTensor>& tensors);
  void RecordExchanges();

  const LocalSteps local_steps_;
  std::optional<SlowMomentum> slow_;
  std::vector<float> round_start_;  // with slow_: the weights at the round's start, with the changes since

  std::uint64_t rounds_ = 0;     // begun
  int steps_left_ = 0;           // of this round
  std::uint64_t saved_key_ = 0;  // of the last Drain
  std::uint64_t saved_draws_ = 0;
  std::int64_t recorded_sent_bytes_ = 0;
  std::int64_t recorded_received_bytes_ = 0;
  std::int64_t recorded_exchanges_ = 0;

  std::unique_ptr<Registers> registers_;
  std::unique_ptr<SwarmPace> pace_;
  std::unique_ptr<SwarmExchanger> exchanger_;  // after registers_, which it uses
};

}  // namespace weft
