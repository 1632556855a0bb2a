#include "agent/dataplane/all_reduce.h"

#include <algorithm>
#include <string>
#include <utility>

#include "agent/core/update_rule.h"

namespace weft {

AllReduceWorker::AllReduceWorker(const PeerPlaneParts& parts) : PeerWorker(parts, /*survive_deaths=*/false) {
  for (const WorkerGroup& group : groups_) {
    buckets_.push_back({.sum = std::make_shared<std::vector<float>>(static_cast<std::size_t>(group.range.count) + 1),
                        .under_way = nullptr,
                        .iteration = 0});
  }
}

Status AllReduceWorker::GradientReady(int layer, std::int64_t samples) {
  const int group = GroupCompletedBy(layer);
  if (group < 0) return exchange_.status();
  const FloatRange& range = groups_[static_cast<std::size_t>(group)].range;
  if (range.count == 0) return OkStatus();
  Bucket& bucket = buckets_[static_cast<std::size_t>(group)];
  std::vector<float>& sum = *bucket.sum;
  // A batch without samples may leave anything among the gradients, even NaN.
  std::ranges::fill(sum, 0.0F);
  if (samples > 0) {
    AddScaledInto(std::span(sum).first(sum.size() - 1),
                  model_.gradients.subspan(static_cast<std::size_t>(range.first), sum.size() - 1),
                  static_cast<float>(samples));
    sum.back() = static_cast<float>(samples);
  }
  bucket.iteration = iteration_;
  bucket.under_way = exchange_.AllReduce(
      sum, "the sum of group " + std::to_string(group) + " in iteration " + std::to_string(iteration_), bucket.sum);
  return exchange_.status();
}

// Waits for the sum under way, if there is one, and takes the local step with the mean.
Status AllReduceWorker::Settle(int group) {
  Bucket& bucket = buckets_[static_cast<std::size_t>(group)];
  const PeerExchange::Handle handle = std::exchange(bucket.under_way, nullptr);
  if (handle == nullptr) return OkStatus();
  WEFT_ASSIGN_OR_RETURN(const PeerExchange::Ended ended, WaitFor(handle, group));
  const WorkerGroup& place = groups_[static_cast<std::size_t>(group)];
  Record(ended, group, 0, bucket.iteration);
  const std::span<float> sum = std::span(*bucket.sum).first(bucket.sum->size() - 1);
  const float samples = bucket.sum->back();
  if (samples == 0) return OkStatus();
  DivideInPlace(sum, samples);
  std::ranges::copy(sum, model_.gradients.begin() + place.range.first);
  for (int l = place.first_layer; l <= place.last_layer; ++l) {
    const FloatRange& range = model_.layers[static_cast<std::size_t>(l)];
    if (range.count > 0) local_step_(range, bucket.iteration);
  }
  return OkStatus();
}

}  // namespace weft
