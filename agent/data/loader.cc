#include "agent/data/loader.h"

#include <algorithm>
#include <numeric>

#include "agent/data/shuffle.h"
#include "common/check.h"

namespace weft {
namespace {

std::int64_t CutPoint(std::int64_t part, std::int64_t total, std::int64_t parts) { return part * total / parts; }

}  // namespace

Result<Loader> Loader::Create(const Dataset& dataset, const LoaderOptions& options) {
  if (dataset.size(Split::kTrain) < 1) return InvalidArgumentError("the training split has no samples");
  if (options.batch_per_worker < 1) {
    return InvalidArgumentError("training.batchSizePerWorker: " + std::to_string(options.batch_per_worker) +
                                " is below 1");
  }
  if (options.workers < 1) {
    return InvalidArgumentError("worker.replicas: " + std::to_string(options.workers) + " is below 1");
  }
  if (options.worker < 0 || options.worker >= options.workers) {
    return InvalidArgumentError("worker " + std::to_string(options.worker) + " is not one of " +
                                std::to_string(options.workers));
  }
  if (options.partition == PartitionType::kLabelSkew && dataset.labels(Split::kTrain).empty()) {
    return InvalidArgumentError("data.partition.type: LabelSkew needs samples with labels");
  }
  return Loader(dataset, options);
}

Loader::Loader(const Dataset& dataset, const LoaderOptions& options) : dataset_(&dataset), options_(options) {
  const std::int64_t count = dataset.size(Split::kTrain);
  const std::int64_t global_batch = options.batch_per_worker * options.workers;
  iterations_per_epoch_ = (count + global_batch - 1) / global_batch;
  samples_.resize(static_cast<std::size_t>(count));
  std::iota(samples_.begin(), samples_.end(), std::int64_t{0});
  if (options.partition == PartitionType::kLabelSkew) {
    const auto labels = dataset.labels(Split::kTrain);
    std::stable_sort(samples_.begin(), samples_.end(), [labels](std::int64_t a, std::int64_t b) {
      return labels[static_cast<std::size_t>(a)] < labels[static_cast<std::size_t>(b)];
    });
    const std::int64_t first = CutPoint(options.worker, count, options.workers);
    const std::int64_t last = CutPoint(options.worker + 1, count, options.workers);
    samples_ = std::vector<std::int64_t>(samples_.begin() + first, samples_.begin() + last);
  }
}

void Loader::EnterEpoch(std::int64_t epoch) {
  if (epoch == order_epoch_) return;
  order_ = samples_;
  std::uint64_t stream = static_cast<std::uint64_t>(epoch);
  if (options_.partition == PartitionType::kLabelSkew) {
    stream = stream * static_cast<std::uint64_t>(options_.workers) + static_cast<std::uint64_t>(options_.worker);
  }
  Shuffle(options_.seed, stream, order_);
  order_epoch_ = epoch;
}

std::span<const std::int64_t> Loader::Indices(std::int64_t iteration) {
  WEFT_CHECK(iteration >= 1) << "iteration " << iteration;
  EnterEpoch(epoch(iteration));
  const std::int64_t in_epoch = (iteration - 1) % iterations_per_epoch_;
  const std::int64_t count = std::ssize(order_);
  std::int64_t first = 0, last = 0;
  if (options_.partition == PartitionType::kLabelSkew) {
    first = std::min(count, in_epoch * options_.batch_per_worker);
    last = std::min(count, first + options_.batch_per_worker);
  } else {
    const std::int64_t global_batch = options_.batch_per_worker * options_.workers;
    const std::int64_t global_first = in_epoch * global_batch;
    const std::int64_t size = std::min(count - global_first, global_batch);
    first = global_first + CutPoint(options_.worker, size, options_.workers);
    last = global_first + CutPoint(options_.worker + 1, size, options_.workers);
  }
  return std::span<const std::int64_t>(order_).subspan(static_cast<std::size_t>(first),
                                                       static_cast<std::size_t>(last - first));
}

}  // namespace weft
