// ADPSGD (Lian et al. 2018, Algorithm 1): each worker steps at its own pace and averages its model with a random
// neighbour's meanwhile; nobody waits for anybody's computation. Gradients are taken on the model as it was when the
// iteration began, and applied to what averaging has made of it since:
//   x_i <- (x_i + x_j)/2,  x_j <- (x_i + x_j)/2      with j uniform among the neighbours (adpsgd_exchanger.h says how)
//   x_i <- x_i + d_i                                  d_i the displacement of any optimizer's local step
// Averaging conserves sum_i x_i, to rounding, with messages lost too; steps add their displacements to it.
//
// One averaging is begun per iteration, beside its compute, unless the one before has passed its time-out and is still
// going. An iteration that is shorter than its averaging waits for it at its end, at most exchange_timeout. Per
// averaging: 3 messages of 2 M + 4 bytes together, M the model's: M + 4 out and M in for the one that begins it, M in
// and M out for its partner. Per worker and iteration that is at most 2 M + 4 bytes each way on average. Memory: 2 M,
// and 2 M for each averaging going on, begun here or served. The trainer's thread copies M at an iteration's start and
// end, under a mutex. Not synchronous: a run does not repeat bit for bit.
//
// A worker that dies is left out: its neighbours draw among the others. The run goes on as long as one is left.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "agent/dataplane/adpsgd_exchanger.h"
#include "agent/dataplane/adpsgd_model.h"
#include "agent/dataplane/peer_worker.h"

namespace weft {

class AdpsgdWorker : public PeerWorker {
 public:
  explicit AdpsgdWorker(const PeerPlaneParts& parts);

  Status BeginIteration(std::int64_t iteration) override;
  Status GradientReady(int layer, std::int64_t samples) override;
  Result<IterationRecord> EndIteration() override;
  Status Drain() override;
  bool synchronous() const override { return false; }

 protected:
  Status Conclude() override;

 private:
  AdpsgdModel shared_;
  std::vector<float> snapshot_;  // what the model held before this iteration's local step
  AdpsgdExchanger exchanger_;    // last: its thread uses the others
};

}  // namespace weft
