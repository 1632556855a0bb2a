#include "agent/dataplane/local_sgd.h"

#include <string>
#include <utility>

#include "agent/core/update_rule.h"

namespace weft {

LocalSgdWorker::LocalSgdWorker(const PeerPlaneParts& parts)
    : PeerWorker(parts, /*survive_deaths=*/false), period_(parts.plan.period), averages_(groups_.size()) {
  if (SlowMomentum::Changes(options_.slow_momentum, options_.slow_rate)) {
    slow_.emplace(options_.slow_momentum, options_.slow_rate, model_.weights.size(), model_.weights);
  }
}

Status LocalSgdWorker::GradientReady(int layer, std::int64_t samples) {
  Step(layer, samples);
  const int group = GroupCompletedBy(layer);
  if (group >= 0 && iteration_ % period_ == 0) StartAverage(group);
  return exchange_.status();
}

// In place: nobody touches a group's weights between its local step and its next forward.
void LocalSgdWorker::StartAverage(int group) {
  const FloatRange& range = groups_[static_cast<std::size_t>(group)].range;
  if (range.count == 0) return;
  averages_[static_cast<std::size_t>(group)] = {
      .under_way = exchange_.AllReduce(WeightsOf(range), "the average of group " + std::to_string(group) +
                                                             " in iteration " + std::to_string(iteration_)),
      .iteration = iteration_};
}

Status LocalSgdWorker::Settle(int group) {
  Average& average = averages_[static_cast<std::size_t>(group)];
  const PeerExchange::Handle handle = std::exchange(average.under_way, nullptr);
  if (handle == nullptr) return OkStatus();
  WEFT_ASSIGN_OR_RETURN(const PeerExchange::Ended ended, WaitFor(handle, group));
  const FloatRange& range = groups_[static_cast<std::size_t>(group)].range;
  Record(ended, group, 0, average.iteration);
  DivideInPlace(WeightsOf(range), static_cast<float>(ranks_));
  if (slow_.has_value()) slow_->Step(range, WeightsOf(range), options_.learning_rate(average.iteration));
  return OkStatus();
}

Status LocalSgdWorker::Conclude() {
  if (iteration_ % period_ == 0) return OkStatus();
  for (const WorkerGroup& group : groups_) StartAverage(group.index);
  return SettleAll();
}

std::vector<PlaneTensor> LocalSgdWorker::SaveState() const {
  std::vector<PlaneTensor> tensors;
  if (slow_.has_value()) slow_->Save(tensors);
  return tensors;
}

Status LocalSgdWorker::RestoreState(std::int64_t iteration, const std::vector<PlaneTensor>& tensors) {
  iteration_ = iteration;
  return slow_.has_value() && !tensors.empty() ? slow_->Restore(tensors) : OkStatus();
}

}  // namespace weft
