#include "agent/dataplane/peer_worker.h"

#include <tuple>
#include <utility>

namespace weft {

PeerWorker::PeerWorker(const PeerPlaneParts& parts, bool survive_deaths)
    : options_(parts.options),
      ranks_(parts.plan.workers),
      rank_(parts.transport.rank()),
      groups_(parts.groups.groups),
      group_of_layer_(parts.groups.group_of_layer),
      model_(parts.model),
      local_step_(parts.local_step),
      clock_(parts.clock),
      exchange_({.generation = parts.options.generation,
                 .ranks = parts.plan.workers,
                 .peer_timeout = parts.options.peer_timeout,
                 .survive_deaths = survive_deaths},
                parts.transport, parts.clock) {
  record_.group_stall_us.assign(groups_.size(), 0);
}

Status PeerWorker::BeginIteration(std::int64_t iteration) {
  iteration_ = iteration;
  record_.iteration = iteration;
  record_.start = clock_.Now();
  return exchange_.status();
}

Status PeerWorker::BeforeForward(int layer) {
  const int group = group_of_layer_[static_cast<std::size_t>(layer)];
  return group < 0 ? OkStatus() : Settle(group);
}

Result<IterationRecord> PeerWorker::EndIteration() {
  WEFT_RETURN_IF_ERROR(exchange_.status());
  std::tie(record_.sent_bytes, record_.received_bytes) = exchange_.TakeBytes();
  record_.end = clock_.Now();
  IterationRecord result = std::exchange(record_, {});
  record_.group_stall_us.assign(groups_.size(), 0);
  return result;
}

void PeerWorker::CountInteraction(const std::string& result) {
  const MutexLock lock(interactions_mutex_);
  ++interactions_[result];
}

ExchangeStatistics PeerWorker::Statistics() const {
  const MutexLock lock(interactions_mutex_);
  ExchangeStatistics statistics;
  statistics.interactions.assign(interactions_.begin(), interactions_.end());
  return statistics;
}

Status PeerWorker::Settle(int) { return OkStatus(); }

Status PeerWorker::SettleAll() {
  for (const WorkerGroup& group : groups_) WEFT_RETURN_IF_ERROR(Settle(group.index));
  return OkStatus();
}

Status PeerWorker::Drain() {
  WEFT_RETURN_IF_ERROR(SettleAll());
  return exchange_.Barrier();
}

Status PeerWorker::Finish() {
  WEFT_RETURN_IF_ERROR(Drain());
  WEFT_RETURN_IF_ERROR(Conclude());
  return exchange_.Goodbye();
}

Status PeerWorker::RestoreState(std::int64_t iteration, const std::vector<PlaneTensor>&) {
  iteration_ = iteration;
  return OkStatus();
}

void PeerWorker::Step(int layer, std::int64_t samples) {
  const FloatRange& range = model_.layers[static_cast<std::size_t>(layer)];
  if (samples > 0 && range.count > 0) local_step_(range, iteration_);
}

int PeerWorker::GroupCompletedBy(int layer) const {
  const int group = group_of_layer_[static_cast<std::size_t>(layer)];
  return group >= 0 && groups_[static_cast<std::size_t>(group)].first_layer == layer ? group : -1;
}

std::span<float> PeerWorker::WeightsOf(const FloatRange& range) const {
  return model_.weights.subspan(static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.count));
}

Result<PeerExchange::Ended> PeerWorker::WaitFor(const PeerExchange::Handle& handle, int group) {
  WEFT_ASSIGN_OR_RETURN(PeerExchange::Ended ended, exchange_.Wait(handle));
  CountStall(ended.waited, group);
  return ended;
}

Result<PeerExchange::Ended> PeerWorker::AwaitFor(const PeerExchange::Handle& handle, int group) {
  WEFT_ASSIGN_OR_RETURN(PeerExchange::Ended ended, exchange_.Await(handle));
  CountStall(ended.waited, group);
  return ended;
}

void PeerWorker::CountStall(Duration waited, int group) {
  record_.stall += waited;
  if (group >= 0) record_.group_stall_us[static_cast<std::size_t>(group)] += ToMicroseconds(waited);
}

void PeerWorker::Record(const PeerExchange::Ended& ended, int group, int peer, std::int64_t round) {
  record_.transfers.push_back({.group = group,
                               .server = peer,
                               .round = round,
                               .planned_start = ended.start,
                               .start = ended.start,
                               .granted = ended.start,
                               .end = ended.end,
                               .push_bytes = ended.bytes_out,
                               .pull_bytes = ended.bytes_in});
}

Result<std::span<const float>> TensorOf(const std::vector<PlaneTensor>& tensors, const std::string& name,
                                        std::size_t count) {
  for (const PlaneTensor& tensor : tensors) {
    if (tensor.name != name) continue;
    if (tensor.values.size() == count) return std::span<const float>(tensor.values);
    return InvalidArgumentError("checkpoint: plane tensor " + name + " has " + std::to_string(tensor.values.size()) +
                                " values, not " + std::to_string(count));
  }
  return InvalidArgumentError("checkpoint: there is no plane tensor " + name);
}

}  // namespace weft
