#include "agent/dataplane/synchronous_worker.h"

#include <utility>

namespace weft {

SynchronousWorker::SynchronousWorker(const ParameterServerOptions& options, const Plan& plan, PlanGroups groups,
                                     ModelView model, LocalStep local_step, Transport& transport, Clock& clock)
    : shards_(plan.shards),
      group_of_layer_(std::move(groups.group_of_layer)),
      model_(std::move(model)),
      local_step_(std::move(local_step)),
      clock_(clock),
      exchange_(options, plan, transport, clock) {
  for (WorkerGroup& place : groups.groups) groups_.push_back({.place = std::move(place), .stepping = 0});
  record_.group_stall_us.assign(groups_.size(), 0);
}

Status SynchronousWorker::BeginIteration(std::int64_t iteration) {
  iteration_ = iteration;
  record_.iteration = iteration;
  record_.start = clock_.Now();
  return exchange_.status();
}

Status SynchronousWorker::BeforeForward(int layer) {
  const int index = group_of_layer_[static_cast<std::size_t>(layer)];
  return index < 0 ? OkStatus() : Step(groups_[static_cast<std::size_t>(index)]);
}

// Waits for the mean under way, if there is one, and takes the local step with it.
Status SynchronousWorker::Step(Group& group) {
  if (group.stepping == 0) return OkStatus();
  const std::int64_t iteration = std::exchange(group.stepping, 0);
  WEFT_ASSIGN_OR_RETURN(const WorkerExchange::Outcome outcome, exchange_.Wait(group.place.index, iteration - 1));
  record_.stall += outcome.waited;
  record_.group_stall_us[static_cast<std::size_t>(group.place.index)] += ToMicroseconds(outcome.waited);
  if (outcome.samples == 0) return OkStatus();
  for (int l = group.place.first_layer; l <= group.place.last_layer; ++l) {
    const FloatRange& range = model_.layers[static_cast<std::size_t>(l)];
    if (range.count > 0) local_step_(range, iteration);
  }
  return OkStatus();
}

Status SynchronousWorker::GradientReady(int layer, std::int64_t samples) {
  const int index = group_of_layer_[static_cast<std::size_t>(layer)];
  if (index < 0) return OkStatus();
  Group& group = groups_[static_cast<std::size_t>(index)];
  if (layer != group.place.first_layer || group.place.channels.empty()) return OkStatus();
  std::vector<ExchangeOrder> orders;
  for (const int channel : group.place.channels) {
    const Shard& shard = shards_[static_cast<std::size_t>(channel)];
    const std::span<float> gradient =
        model_.gradients.subspan(static_cast<std::size_t>(shard.first), static_cast<std::size_t>(shard.count));
    orders.push_back({.channel = channel,
                      .round = iteration_ - 1,
                      .iteration = iteration_,
                      .samples = samples,
                      .last = false,
                      .slot = 0,
                      .push = gradient,
                      .pull = gradient,
                      .iteration_start = record_.start,
                      .planned_start = std::nullopt,
                      .slot_length = {}});
  }
  group.stepping = iteration_;
  exchange_.Start(index, iteration_ - 1, orders);
  return exchange_.status();
}

Result<IterationRecord> SynchronousWorker::EndIteration() {
  WEFT_RETURN_IF_ERROR(exchange_.status());
  record_.end = clock_.Now();
  record_.transfers = exchange_.TakeRecords();
  IterationRecord result = std::exchange(record_, {});
  record_.group_stall_us.assign(groups_.size(), 0);
  return result;
}

Status SynchronousWorker::Drain() {
  for (Group& group : groups_) WEFT_RETURN_IF_ERROR(Step(group));
  return OkStatus();
}

Status SynchronousWorker::Finish() {
  WEFT_RETURN_IF_ERROR(Drain());
  return exchange_.Goodbye(/*last=*/true);
}

Status SynchronousWorker::RestoreState(std::int64_t iteration, const std::vector<PlaneTensor>&) {
  iteration_ = iteration;
  return OkStatus();
}

}  // namespace weft
