// DPSGD: each worker averages its model with its neighbours' in every iteration (Lian et al. 2017, Algorithm 1), with
// the doubly stochastic W of MetropolisWeights and d_i the displacement of any optimizer's local step, which stands for
// -gamma g_i:
//   CombineThenAdapt (the paper's)   x_i <- sum_j W_ij x_j + d_i      models leave at the iteration's start, beside all
//                                                                    of compute; waited for at its end
//   AdaptThenCombine                 x_i <- sum_j W_ij (x_j + d_j)    a group leaves when it is stepped, beside the
//   rest
//                                                                    of backward; waited for before its next forward
// W is doubly stochastic, so averaging conserves sum_i x_i. Sums are taken own first, then neighbours in ascending
// order, so a run repeats bit for bit. On the complete graph W is 1/P throughout: AdaptThenCombine is then LocalSGD
// with H = 1, and equals AllReduce for SGD, with momentum too (the mean of the velocities follows the velocity of the
// mean), where the batches have one size; an optimizer that is not linear in the gradient (AdamW) differs. SlowMo,
// where it is worn: every slow_period iterations after the combination, each worker with its own x and u.
//
// Per iteration and worker, deg the number of its neighbours, M the model's bytes, G the groups that have floats: deg M
// bytes each way, in deg messages (CombineThenAdapt) or deg G (AdaptThenCombine). Memory: (deg + 2) M, or deg M.
// One thread calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "agent/dataplane/peer_worker.h"
#include "agent/dataplane/slow_momentum.h"

namespace weft {

class DpsgdWorker : public PeerWorker {
 public:
  explicit DpsgdWorker(const PeerPlaneParts& parts);

  Status BeginIteration(std::int64_t iteration) override;
  Status GradientReady(int layer, std::int64_t samples) override;
  Result<IterationRecord> EndIteration() override;
  std::vector<PlaneTensor> SaveState() const override;
  Status RestoreState(std::int64_t iteration, const std::vector<PlaneTensor>& tensors) override;

 protected:
  Status Settle(int group) override;

 private:
  using Floats = std::shared_ptr<std::vector<float>>;
  // A range that goes to all neighbours and comes from each of them.
  struct Exchange {
    std::vector<PeerExchange::Handle> sends;
    std::vector<PeerExchange::Handle> receives;
    std::int64_t iteration = 0;
  };

  bool adapts_first() const { return options_.order == CombineOrder::kAdaptThenCombine; }
  Exchange Start(const FloatRange& range, std::span<const float> own, int channel, const PeerExchange::Memory& memory);
  // Waits for the exchange, and puts sum_j W_ij x_j over the range in place of `own`.
  Status Combine(Exchange& exchange, const FloatRange& range, std::span<float> own, int group);
  void StepSlowly(const FloatRange& range, std::int64_t iteration);

  const std::vector<int> neighbours_;
  const std::vector<double> weights_;  // of the neighbours, the own one last
  std::vector<Floats> inbox_;          // by neighbour, the whole model
  std::optional<SlowMomentum> slow_;

  // CombineThenAdapt.
  Exchange whole_;
  Floats snapshot_;  // x_i as it was sent
  std::vector<float> combined_;
  // AdaptThenCombine, by group.
  std::vector<Exchange> parts_;
};

}  // namespace weft
