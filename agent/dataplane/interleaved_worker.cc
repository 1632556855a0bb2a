#include "agent/dataplane/interleaved_worker.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "agent/core/update_rule.h"

namespace weft {
namespace {

// The plan's earliest window starts the iteration, where the windows are not told to start later.
Duration ForwardTime(const ParameterServerOptions& options, const Plan& plan) {
  if (options.forward_time) return *options.forward_time;
  double earliest_us = 0;
  for (const PlanGroup& group : plan.groups) earliest_us = std::min(earliest_us, group.window_from_us);
  return FromMicroseconds(-earliest_us);
}

// The elastic terms that a checkpoint or another plan goes on with, by place: which floats a group has, the plan says
// that is then in force.
constexpr std::string_view kTermPrefix = "late_term.";
std::string TermName(const FloatRange& range) { return std::string(kTermPrefix) + std::to_string(range.first); }

// Where the tensor's values belong; INVALID_ARGUMENT: no place in `count` floats.
Result<FloatRange> PlaceOf(const PlaneTensor& tensor, std::int64_t count) {
  FloatRange range{.first = -1, .count = static_cast<std::int64_t>(tensor.values.size())};
  const char* end = tensor.name.data() + tensor.name.size();
  const char* begin = tensor.name.starts_with(kTermPrefix) ? tensor.name.data() + kTermPrefix.size() : end;
  const auto [rest, error] = std::from_chars(begin, end, range.first);
  if (error != std::errc{} || rest != end || range.first < 0 || range.first > count - range.count) {
    return InvalidArgumentError(tensor.name + " with " + std::to_string(range.count) + " floats has no place in " +
                                std::to_string(count));
  }
  return range;
}

}  // namespace

InterleavedWorker::InterleavedWorker(const ParameterServerOptions& options, const Plan& plan, PlanGroups groups,
                                     ModelView model, LocalStep local_step, Transport& transport, Clock& clock)
    : options_(options),
      plan_(plan),
      elastic_rate_(static_cast<float>(options.ElasticRate(plan.workers))),
      forward_time_(ForwardTime(options, plan)),
      group_of_layer_(std::move(groups.group_of_layer)),
      model_(std::move(model)),
      local_step_(std::move(local_step)),
      rank_(transport.rank()),
      clock_(clock),
      exchange_(options, plan, transport, clock) {
  const std::size_t buffers = options.apply == Apply::kLate && plan.period == 1 ? 2 : 1;
  for (WorkerGroup& place : groups.groups) {
    const auto count = static_cast<std::size_t>(place.range.count);
    Group group;
    group.place = std::move(place);
    group.buffers.assign(buffers, {.snapshot = std::vector<float>(count), .centre = std::vector<float>(count)});
    groups_.push_back(std::move(group));
  }
  record_.group_stall_us.assign(groups_.size(), 0);
}

std::span<float> InterleavedWorker::WeightsOf(const Group& group) {
  return model_.weights.subspan(static_cast<std::size_t>(group.place.range.first),
                                static_cast<std::size_t>(group.place.range.count));
}

TimePoint InterleavedWorker::SlotStart(const Group& group, int slot) const {
  const PlanGroup& planned = plan_.groups[static_cast<std::size_t>(group.place.index)];
  return record_.start + forward_time_ + FromMicroseconds(planned.window_from_us + slot * planned.slot_us);
}

Status InterleavedWorker::BeginIteration(std::int64_t iteration) {
  WEFT_RETURN_IF_ERROR(exchange_.status());
  iteration_ = iteration;
  record_.iteration = iteration;
  record_.start = clock_.Now();
  for (Group& group : groups_) {
    if (group.place.channels.empty() || !Synchronizes(plan_.phase, plan_.period, group.place.index, iteration)) {
      continue;
    }
    group.to_begin = true;
    // The snapshot has the round before in it; one that is not here yet is waited for at its deadline, not now.
    if (options_.apply == Apply::kDeadline && !group.open.empty()) {
      if (!exchange_.Through(group.place.index, group.open.front().round)) continue;
      WEFT_RETURN_IF_ERROR(ApplyOldest(group));
    }
    WEFT_RETURN_IF_ERROR(Begin(group, false));
  }
  return OkStatus();
}

Status InterleavedWorker::Begin(Group& group, bool last) {
  group.to_begin = false;
  const std::int64_t round = group.next_round++;
  const std::size_t buffer = static_cast<std::size_t>(round) % group.buffers.size();
  Buffers& buffers = group.buffers[buffer];
  std::ranges::copy(WeightsOf(group), buffers.snapshot.begin());
  group.open.push_back({.round = round, .iteration = iteration_, .buffer = buffer});

  std::vector<ExchangeOrder> orders;
  for (const int channel : group.place.channels) {
    const Shard& shard = plan_.shards[static_cast<std::size_t>(channel)];
    const int slot = SlotOf(rank_, round, shard.server, plan_.workers, plan_.servers);
    const auto first = static_cast<std::size_t>(shard.first - group.place.range.first);
    const auto count = static_cast<std::size_t>(shard.count);
    ExchangeOrder order{.channel = channel,
                        .round = round,
                        .iteration = iteration_,
                        .samples = 0,
                        .last = last,
                        .slot = slot,
                        .push = std::span<const float>(buffers.snapshot).subspan(first, count),
                        .pull = std::span<float>(buffers.centre).subspan(first, count),
                        .iteration_start = record_.start,
                        .planned_start = std::nullopt,
                        .slot_length = {}};
    if (!last) {
      order.planned_start = SlotStart(group, slot);
      order.slot_length = FromMicroseconds(plan_.groups[static_cast<std::size_t>(group.place.index)].slot_us);
    }
    orders.push_back(order);
  }
  exchange_.Start(group.place.index, round, orders);
  return exchange_.status();
}

Status InterleavedWorker::ApplyOldest(Group& group) {
  const OpenRound round = group.open.front();
  WEFT_ASSIGN_OR_RETURN(const WorkerExchange::Outcome outcome, exchange_.Wait(group.place.index, round.round));
  record_.stall += outcome.waited;
  record_.group_stall_us[static_cast<std::size_t>(group.place.index)] += ToMicroseconds(outcome.waited);
  const Buffers& buffers = group.buffers[round.buffer];
  ApplyElasticTerm(WeightsOf(group), buffers.snapshot, buffers.centre, elastic_rate_);
  group.open.pop_front();
  return OkStatus();
}

Status InterleavedWorker::BeforeForward(int layer) {
  const int index = group_of_layer_[static_cast<std::size_t>(layer)];
  if (index < 0 || options_.apply == Apply::kLate) return OkStatus();
  Group& group = groups_[static_cast<std::size_t>(index)];
  if (!group.open.empty() && group.open.front().iteration < iteration_) WEFT_RETURN_IF_ERROR(ApplyOldest(group));
  if (group.to_begin) WEFT_RETURN_IF_ERROR(Begin(group, false));
  return OkStatus();
}

Status InterleavedWorker::GradientReady(int layer, std::int64_t samples) {
  const FloatRange& range = model_.layers[static_cast<std::size_t>(layer)];
  if (samples > 0 && range.count > 0) local_step_(range, iteration_);
  const int index = group_of_layer_[static_cast<std::size_t>(layer)];
  if (index < 0 || options_.apply == Apply::kDeadline) return OkStatus();
  Group& group = groups_[static_cast<std::size_t>(index)];
  if (layer != group.place.first_layer) return OkStatus();
  if (!group.restored_term.empty()) {
    SubtractInto(WeightsOf(group), group.restored_term);
    group.restored_term.clear();
  }
  if (!group.open.empty() && group.open.front().iteration < iteration_) return ApplyOldest(group);
  return OkStatus();
}

Result<IterationRecord> InterleavedWorker::EndIteration() {
  WEFT_RETURN_IF_ERROR(exchange_.status());
  record_.end = clock_.Now();
  record_.transfers = exchange_.TakeRecords();
  IterationRecord result = std::exchange(record_, {});
  record_.group_stall_us.assign(groups_.size(), 0);
  return result;
}

Status InterleavedWorker::Drain() {
  for (Group& group : groups_) {
    if (options_.apply == Apply::kDeadline) {
      while (!group.open.empty()) WEFT_RETURN_IF_ERROR(ApplyOldest(group));
      continue;
    }
    // Late: each stays to be applied at its step, but nothing is in flight.
    for (const OpenRound& round : group.open) WEFT_RETURN_IF_ERROR(exchange_.Settle(group.place.index, round.round));
  }
  return OkStatus();
}

Status InterleavedWorker::Finish() {
  for (Group& group : groups_) {
    if (!group.restored_term.empty()) SubtractInto(WeightsOf(group), std::exchange(group.restored_term, {}));
    while (!group.open.empty()) WEFT_RETURN_IF_ERROR(ApplyOldest(group));
    if (!group.place.channels.empty()) WEFT_RETURN_IF_ERROR(Begin(group, true));
  }
  for (Group& group : groups_) {
    if (!group.open.empty()) WEFT_RETURN_IF_ERROR(ApplyOldest(group));
  }
  return exchange_.Goodbye(/*last=*/true);
}

std::vector<PlaneTensor> InterleavedWorker::SaveState() const {
  std::vector<PlaneTensor> tensors;
  for (const Group& group : groups_) {
    if (!group.restored_term.empty()) {
      tensors.push_back({TermName(group.place.range), group.restored_term});
    }
    for (const OpenRound& round : group.open) {
      const Buffers& buffers = group.buffers[round.buffer];
      PlaneTensor tensor{TermName(group.place.range), std::vector<float>(buffers.snapshot.size())};
      ElasticDelta(tensor.values, buffers.snapshot, buffers.centre, elastic_rate_);
      tensors.push_back(std::move(tensor));
    }
  }
  return tensors;
}

Status InterleavedWorker::RestoreState(std::int64_t iteration, const std::vector<PlaneTensor>& tensors) {
  iteration_ = iteration;
  for (Group& group : groups_) {
    group.next_round = RoundsThrough(plan_.phase, plan_.period, group.place.index, iteration);
  }
  for (const PlaneTensor& tensor : tensors) {
    WEFT_ASSIGN_OR_RETURN(const FloatRange term, PlaceOf(tensor, static_cast<std::int64_t>(model_.weights.size())));
    for (Group& group : groups_) {
      const FloatRange& own = group.place.range;
      const std::int64_t from = std::max(own.first, term.first);
      const std::int64_t to = std::min(own.first + own.count, term.first + term.count);
      if (from >= to) continue;
      // Of a group that the terms cover in part the rest changes by 0.
      if (group.restored_term.empty()) group.restored_term.assign(static_cast<std::size_t>(own.count), 0);
      std::copy(tensor.values.begin() + (from - term.first), tensor.values.begin() + (to - term.first),
                group.restored_term.begin() + (from - own.first));
    }
  }
  return OkStatus();
}

}  // namespace weft
