// LocalSGD (Stich 2019, Algorithm 1): each worker steps by itself, and every H iterations (the plan's period) the
// models are averaged over all workers:
//   w_k <- LocalStep(w_k, g_k),   and when H divides t:  w_k <- 1/P sum_j w_j.
// The optimizer's state stays local. A group's sum starts as soon as its layers are stepped, beside the rest of
// backward, and is waited for before its next forward. With SlowMo (slow_momentum.h) the outer step follows each
// average. With H = 1, SGD with or without momentum and equal batches this is AllReduce: the mean of the velocities
// follows the velocity of the mean. With batches of unequal size it is not: models count the same, gradients of
// AllReduce by their samples.
//
// Every H iterations, per worker: G sums, G the groups that have floats, of M bytes together, M the model's. As the
// ring that the transport runs: 2 (P-1)/P M bytes each way in 2 (P-1) G messages, more where a group's share of a rank
// passes 256 KiB. Per iteration that is 1/H of it. Memory: none; 2 M with SlowMo. One thread calls.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "agent/dataplane/peer_worker.h"
#include "agent/dataplane/slow_momentum.h"

namespace weft {

class LocalSgdWorker : public PeerWorker {
 public:
  explicit LocalSgdWorker(const PeerPlaneParts& parts);

  Status GradientReady(int layer, std::int64_t samples) override;
  std::vector<PlaneTensor> SaveState() const override;
  Status RestoreState(std::int64_t iteration, const std::vector<PlaneTensor>& tensors) override;

 protected:
  Status Settle(int group) override;
  // Where H does not divide the last iteration: a last average, so that all end with the same model.
  Status Conclude() override;

 private:
  void StartAverage(int group);

  struct Average {
    PeerExchange::Handle under_way;  // null: none
    std::int64_t iteration = 0;
  };
  const int period_;
  std::optional<SlowMomentum> slow_;
  std::vector<Average> averages_;  // by group
};

}  // namespace weft
