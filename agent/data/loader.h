// Which samples a worker trains on at each iteration. Every worker computes the same order, so nobody sends indices.
//
// IID: epoch e's order is a shuffle of all n samples by (seed, e). Iteration by iteration, global batches of
// workers * batch are cut from it, the last one with what is left; of a global batch of g samples worker p takes
// [floor(p g / workers), floor((p + 1) g / workers)). LabelSkew: the samples, sorted by label, are cut into one shard a
// worker, and worker p goes through shard p, shuffled by (seed, e, p), in batches. Either way every sample is used
// exactly once an epoch, an epoch has ceil(n / (workers * batch)) iterations, and in its last one the workers' parts
// differ by at most one sample and may be empty.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "agent/data/dataset.h"
#include "common/job/job_spec.h"
#include "common/status.h"

namespace weft {

struct LoaderOptions {
  std::uint64_t seed = 1;
  std::int64_t batch_per_worker = 64;
  int workers = 1;
  int worker = 0;  // this one, from 0
  PartitionType partition = PartitionType::kIID;
};

// Single thread. Any iteration may be asked for at any time; going on within one epoch costs nothing, a new epoch costs
// a shuffle of all samples.
class Loader {
 public:
  // `dataset` outlives the loader.
  // INVALID_ARGUMENT: LabelSkew over samples without labels; an empty training split; batch, workers or worker out of
  // range.
  static Result<Loader> Create(const Dataset& dataset, const LoaderOptions& options);

  std::int64_t iterations_per_epoch() const { return iterations_per_epoch_; }

  // Iterations count from 1 on, over all epochs. The epoch counts from 0.
  std::int64_t epoch(std::int64_t iteration) const { return (iteration - 1) / iterations_per_epoch_; }

  // This worker's samples of the training split at `iteration`. Valid until the next call.
  std::span<const std::int64_t> Indices(std::int64_t iteration);

  // The same, gathered.
  void Load(std::int64_t iteration, Samples& out) { dataset_->Gather(Split::kTrain, Indices(iteration), out); }

 private:
  Loader(const Dataset& dataset, const LoaderOptions& options);
  void EnterEpoch(std::int64_t epoch);

  const Dataset* dataset_;
  LoaderOptions options_;
  std::int64_t iterations_per_epoch_ = 0;
  std::vector<std::int64_t> samples_;  // what epochs shuffle: all samples (IID), or this worker's shard
  std::vector<std::int64_t> order_;    // `samples_` in the order of `order_epoch_`
  std::int64_t order_epoch_ = -1;
};

}  // namespace weft
