#include "agent/dataplane/sgp.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "agent/core/update_rule.h"
#include "common/math/push_sum.h"

namespace weft {
namespace {

constexpr std::string_view kPendingPrefix = "sgp_in_";

// The numbers of "sgp_in_12_3".
std::optional<std::pair<std::int64_t, int>> PendingName(std::string_view name) {
  if (!name.starts_with(kPendingPrefix)) return std::nullopt;
  name.remove_prefix(kPendingPrefix.size());
  std::int64_t iteration = 0;
  int sender = 0;
  const char* end = name.data() + name.size();
  const auto [middle, error] = std::from_chars(name.data(), end, iteration);
  if (error != std::errc() || middle == end || *middle != '_') return std::nullopt;
  const auto [last, error2] = std::from_chars(middle + 1, end, sender);
  if (error2 != std::errc() || last != end) return std::nullopt;
  return std::pair(iteration, sender);
}

}  // namespace

std::vector<int> SgpSenders(const Topology& topology, int node, std::int64_t iteration) {
  std::vector<int> senders;
  for (const int neighbour : topology.neighbours(node)) {
    if (PushReceiver(topology, neighbour, iteration) == node) senders.push_back(neighbour);
  }
  return senders;
}

SgpWorker::SgpWorker(const PeerPlaneParts& parts)
    : PeerWorker(parts, /*survive_deaths=*/false),
      topology_(*parts.options.topology),
      x_(model_.weights.begin(), model_.weights.end()) {
  if (SlowMomentum::Changes(options_.slow_momentum, options_.slow_rate)) {
    slow_.emplace(options_.slow_momentum, options_.slow_rate, x_.size(), x_);
  }
}

SgpWorker::Floats SgpWorker::TakeBuffer() {
  if (free_.empty()) return std::make_shared<std::vector<float>>(x_.size() + 1);
  Floats buffer = std::move(free_.back());
  free_.pop_back();
  return buffer;
}

Status SgpWorker::BeginIteration(std::int64_t iteration) {
  WEFT_RETURN_IF_ERROR(PeerWorker::BeginIteration(iteration));
  for (const int sender : SgpSenders(topology_, rank_, iteration)) {
    const Floats buffer = TakeBuffer();
    received_.push_back({.iteration = iteration,
                         .peer = sender,
                         .halves = buffer,
                         .handle = exchange_.Receive(sender, TagOf(0, iteration), *buffer,
                                                     "the push of iteration " + std::to_string(iteration), buffer)});
  }
  return exchange_.status();
}

Status SgpWorker::GradientReady(int layer, std::int64_t samples) {
  Step(layer, samples);
  return exchange_.status();
}

Result<IterationRecord> SgpWorker::EndIteration() {
  WEFT_RETURN_IF_ERROR(exchange_.status());
  // The model held x / w, and the local step has moved it.
  for (std::size_t i = 0; i < x_.size(); ++i) x_[i] += model_.weights[i] - x_[i] / w_;
  Push();
  ShowEstimate();  // halves have the same quotient: the model is right also when what follows fails
  WEFT_RETURN_IF_ERROR(SettleSent(iteration_ - options_.overlap));
  WEFT_RETURN_IF_ERROR(AbsorbReceived(iteration_ - options_.overlap));
  ShowEstimate();
  if (slow_.has_value() && iteration_ % options_.slow_period == 0) {
    slow_->Step({0, static_cast<std::int64_t>(x_.size())}, model_.weights, options_.learning_rate(iteration_));
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = model_.weights[i] * w_;
    ShowEstimate();
  }
  return PeerWorker::EndIteration();
}

void SgpWorker::Push() {
  ScaleInPlace(x_, 0.5F);
  w_ *= 0.5F;
  const Floats halves = TakeBuffer();
  std::ranges::copy(x_, halves->begin());
  halves->back() = w_;
  const int to = PushReceiver(topology_, rank_, iteration_);
  sent_.push_back({.iteration = iteration_,
                   .peer = to,
                   .halves = halves,
                   .handle = exchange_.Send(to, TagOf(0, iteration_), *halves,
                                            "the push of iteration " + std::to_string(iteration_), halves)});
}

Status SgpWorker::SettleSent(std::int64_t through) {
  while (!sent_.empty() && sent_.front().iteration <= through) {
    const Message message = std::move(sent_.front());
    sent_.pop_front();
    WEFT_ASSIGN_OR_RETURN(const PeerExchange::Ended ended, AwaitFor(message.handle, -1));
    if (ended.status.ok()) {
      Record(ended, 0, message.peer, message.iteration);
    } else if (ended.status.code() == StatusCode::kUnavailable && !exchange_.gone(message.peer)) {
      Absorb(*message.halves);
      exchange_.SendTombstone(message.peer, TagOf(0, message.iteration));
      CountInteraction("lost");
    } else {
      return exchange_.Wait(message.handle).status();
    }
    free_.push_back(message.halves);
  }
  return OkStatus();
}

Result<bool> SgpWorker::Arrived(const Message& message) {
  if (message.handle == nullptr) return true;
  WEFT_ASSIGN_OR_RETURN(const PeerExchange::Ended ended, AwaitFor(message.handle, -1));
  if (ended.status.ok()) return true;
  if (ended.status.code() == StatusCode::kDataLoss) return false;
  return exchange_.Wait(message.handle).status();
}

Status SgpWorker::AbsorbReceived(std::int64_t through) {
  while (!received_.empty() && received_.front().iteration <= through) {
    const Message message = std::move(received_.front());
    received_.pop_front();
    WEFT_ASSIGN_OR_RETURN(const bool arrived, Arrived(message));
    if (arrived) {
      Absorb(*message.halves);
      CountInteraction("averaged");
    }
    free_.push_back(message.halves);
  }
  return OkStatus();
}

void SgpWorker::Absorb(const std::vector<float>& halves) {
  AddInto(x_, std::span(halves).first(x_.size()));
  w_ += halves.back();
}

void SgpWorker::ShowEstimate() {
  for (std::size_t i = 0; i < x_.size(); ++i) model_.weights[i] = x_[i] / w_;
}

Status SgpWorker::SettleAll() {
  WEFT_RETURN_IF_ERROR(SettleSent(iteration_));
  std::deque<Message> come;
  for (const Message& message : received_) {
    WEFT_ASSIGN_OR_RETURN(const bool arrived, Arrived(message));
    if (arrived) come.push_back({message.iteration, message.peer, message.halves, nullptr});
  }
  received_ = std::move(come);
  ShowEstimate();
  return OkStatus();
}

Status SgpWorker::Conclude() {
  WEFT_RETURN_IF_ERROR(AbsorbReceived(iteration_));
  ShowEstimate();
  return OkStatus();
}

std::vector<PlaneTensor> SgpWorker::SaveState() const {
  std::vector<PlaneTensor> tensors = {{"sgp_x", x_}, {"sgp_w", {w_}}};
  for (const Message& message : received_) {
    tensors.push_back(
        {std::string(kPendingPrefix) + std::to_string(message.iteration) + "_" + std::to_string(message.peer),
         *message.halves});
  }
  if (slow_.has_value()) slow_->Save(tensors);
  return tensors;
}

Status SgpWorker::RestoreState(std::int64_t iteration, const std::vector<PlaneTensor>& tensors) {
  iteration_ = iteration;
  if (tensors.empty()) return OkStatus();  // x = z and w = 1, as constructed
  WEFT_ASSIGN_OR_RETURN(const std::span<const float> x, TensorOf(tensors, "sgp_x", x_.size()));
  WEFT_ASSIGN_OR_RETURN(const std::span<const float> w, TensorOf(tensors, "sgp_w", 1));
  std::ranges::copy(x, x_.begin());
  w_ = w.front();
  for (const PlaneTensor& tensor : tensors) {
    const auto pending = PendingName(tensor.name);
    if (!pending.has_value()) continue;
    WEFT_ASSIGN_OR_RETURN(const std::span<const float> halves, TensorOf(tensors, tensor.name, x_.size() + 1));
    received_.push_back({.iteration = pending->first,
                         .peer = pending->second,
                         .halves = std::make_shared<std::vector<float>>(halves.begin(), halves.end()),
                         .handle = nullptr});
  }
  std::ranges::sort(received_, {}, [](const Message& m) { return std::pair(m.iteration, m.peer); });
  ShowEstimate();
  return slow_.has_value() ? slow_->Restore(tensors) : OkStatus();
}

}  // namespace weft
