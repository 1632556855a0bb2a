#include "agent/dataplane/dpsgd.h"

#include <algorithm>
#include <string>
#include <utility>

#include "agent/core/update_rule.h"

namespace weft {
namespace {

std::vector<int> NeighboursOf(const PeerPlaneParts& parts) {
  const std::span<const int> neighbours = parts.options.topology->neighbours(parts.transport.rank());
  return {neighbours.begin(), neighbours.end()};
}

std::span<float> PartOf(std::vector<float>& all, const FloatRange& range) {
  return std::span(all).subspan(static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.count));
}

}  // namespace

DpsgdWorker::DpsgdWorker(const PeerPlaneParts& parts)
    : PeerWorker(parts, /*survive_deaths=*/false),
      neighbours_(NeighboursOf(parts)),
      weights_(MetropolisWeights(*parts.options.topology, parts.transport.rank())),
      parts_(groups_.size()) {
  const std::size_t count = model_.weights.size();
  for (std::size_t n = 0; n < neighbours_.size(); ++n) inbox_.push_back(std::make_shared<std::vector<float>>(count));
  if (!adapts_first()) {
    snapshot_ = std::make_shared<std::vector<float>>(count);
    combined_.resize(count);
  }
  if (SlowMomentum::Changes(options_.slow_momentum, options_.slow_rate)) {
    slow_.emplace(options_.slow_momentum, options_.slow_rate, count, model_.weights);
  }
}

DpsgdWorker::Exchange DpsgdWorker::Start(const FloatRange& range, std::span<const float> own, int channel,
                                         const PeerExchange::Memory& memory) {
  Exchange exchange{.sends = {}, .receives = {}, .iteration = iteration_};
  const std::string what = "the model of iteration " + std::to_string(iteration_);
  const Tag tag = TagOf(channel, iteration_);
  for (std::size_t n = 0; n < neighbours_.size(); ++n) {
    exchange.receives.push_back(exchange_.Receive(neighbours_[n], tag, PartOf(*inbox_[n], range), what, inbox_[n]));
    exchange.sends.push_back(exchange_.Send(neighbours_[n], tag, own, what, memory));
  }
  return exchange;
}

Status DpsgdWorker::Combine(Exchange& exchange, const FloatRange& range, std::span<float> own, int group) {
  for (std::size_t n = 0; n < neighbours_.size(); ++n) {
    WEFT_ASSIGN_OR_RETURN(const PeerExchange::Ended out, WaitFor(exchange.sends[n], group));
    WEFT_ASSIGN_OR_RETURN(PeerExchange::Ended both, WaitFor(exchange.receives[n], group));
    both.end = std::max(both.end, out.end);
    both.bytes_out = out.bytes_out;
    Record(both, std::max(group, 0), neighbours_[n], exchange.iteration);
    CountInteraction("averaged");
  }
  ScaleInPlace(own, static_cast<float>(weights_.back()));
  for (std::size_t n = 0; n < neighbours_.size(); ++n) {
    AddScaledInto(own, PartOf(*inbox_[n], range), static_cast<float>(weights_[n]));
  }
  exchange = {};
  return OkStatus();
}

void DpsgdWorker::StepSlowly(const FloatRange& range, std::int64_t iteration) {
  if (!slow_.has_value() || iteration % options_.slow_period != 0) return;
  slow_->Step(range, WeightsOf(range), options_.learning_rate(iteration));
}

Status DpsgdWorker::BeginIteration(std::int64_t iteration) {
  WEFT_RETURN_IF_ERROR(PeerWorker::BeginIteration(iteration));
  if (adapts_first() || model_.weights.empty()) return OkStatus();
  std::ranges::copy(model_.weights, snapshot_->begin());
  whole_ = Start({0, static_cast<std::int64_t>(snapshot_->size())}, *snapshot_, 0, snapshot_);
  return exchange_.status();
}

Status DpsgdWorker::GradientReady(int layer, std::int64_t samples) {
  Step(layer, samples);
  const int group = GroupCompletedBy(layer);
  if (!adapts_first() || group < 0) return exchange_.status();
  const FloatRange& range = groups_[static_cast<std::size_t>(group)].range;
  // In place: nobody touches a group's weights between its local step and its next forward.
  if (range.count > 0) parts_[static_cast<std::size_t>(group)] = Start(range, WeightsOf(range), group, nullptr);
  return exchange_.status();
}

// AdaptThenCombine.
Status DpsgdWorker::Settle(int group) {
  Exchange& exchange = parts_[static_cast<std::size_t>(group)];
  if (exchange.sends.empty()) return OkStatus();
  const std::int64_t iteration = exchange.iteration;
  const FloatRange& range = groups_[static_cast<std::size_t>(group)].range;
  WEFT_RETURN_IF_ERROR(Combine(exchange, range, WeightsOf(range), group));
  StepSlowly(range, iteration);
  return OkStatus();
}

Result<IterationRecord> DpsgdWorker::EndIteration() {
  if (!whole_.sends.empty()) {
    const FloatRange all{0, static_cast<std::int64_t>(snapshot_->size())};
    combined_ = *snapshot_;
    WEFT_RETURN_IF_ERROR(Combine(whole_, all, combined_, -1));
    SubtractInto(model_.weights, *snapshot_);  // the displacement
    AddInto(model_.weights, combined_);
    StepSlowly(all, iteration_);
  }
  return PeerWorker::EndIteration();
}

std::vector<PlaneTensor> DpsgdWorker::SaveState() const {
  std::vector<PlaneTensor> tensors;
  if (slow_.has_value()) slow_->Save(tensors);
  return tensors;
}

Status DpsgdWorker::RestoreState(std::int64_t iteration, const std::vector<PlaneTensor>& tensors) {
  iteration_ = iteration;
  return slow_.has_value() && !tensors.empty() ? slow_->Restore(tensors) : OkStatus();
}

}  // namespace weft
