// AllReduce: large-batch SGD (Goyal et al. 2017, section 2: the gradient of the joined minibatch). Each group of the
// plan is one fused bucket, whose sum over the workers starts as soon as the gradients of its layers are ready, beside
// the rest of backward (Li et al. 2020, PyTorch Distributed, section 3.2), and is waited for before the group's next
// forward, where the local step is taken:
//   g <- sum_k n_k g_k / sum_k n_k,   w <- LocalStep(w, g),   n_k the samples of worker k's batch.
// All workers step with the same bits, so weights and optimizer state stay the same everywhere. When nobody has samples
// no step is taken.
//
// Per iteration and worker: G sums, G the groups that have floats, of M + 4 G bytes together (M the model's; each
// bucket carries its workers' samples as one more float, exact up to 2^24 of them). As the ring that the transport
// runs: 2 (P-1)/P (M + 4 G) bytes each way in 2 (P-1) G messages, more where a rank's share of a bucket passes 256 KiB.
// Memory: M + 4 G bytes. One thread calls.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/dataplane/peer_worker.h"

namespace weft {

class AllReduceWorker : public PeerWorker {
 public:
  explicit AllReduceWorker(const PeerPlaneParts& parts);

  Status GradientReady(int layer, std::int64_t samples) override;
  bool replicated() const override { return true; }
  Status Leave() override { return exchange_.Goodbye(); }

 protected:
  Status Settle(int group) override;

 private:
  struct Bucket {
    std::shared_ptr<std::vector<float>> sum;  // n_k g_k, and n_k behind it
    PeerExchange::Handle under_way;           // null: none
    std::int64_t iteration = 0;               // whose gradient it is
  };
  std::vector<Bucket> buckets_;  // by group
};

}  // namespace weft
