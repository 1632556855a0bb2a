#include "agent/dataplane/swarm_node.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/check.h"
#include "common/log.h"

namespace weft {
namespace {

// Of X_0's publication, relative to the largest weight, until a displacement is known: all models are equal then.
constexpr float kFirstDistance = 0x1p-7F;
// Two nodes' first displacements point in any directions.
constexpr float kFirstDisplacements = 2;
// A message that was lost looks like a partner that is gone.
constexpr int kFailuresOfTheLost = 3;
// What the quantizer refuses, and room for a change on top.
constexpr float kLargestWeight = 0x1p99F;
constexpr Duration kLongWait = std::chrono::milliseconds(100);

// The bits of |x| grow with it, NaN's are the largest.
std::uint32_t MagnitudeBits(float x) { return std::bit_cast<std::uint32_t>(x) & 0x7fffffff; }

float LargestMagnitude(std::span<const float> x) {
  std::uint32_t largest = 0;
  for (const float value : x) largest = std::max(largest, MagnitudeBits(value));
  return std::bit_cast<float>(largest);
}

float FirstDistance(std::span<const float> model) {
  const float largest = LargestMagnitude(model);
  return std::isfinite(largest) ? kFirstDistance * largest : 1;
}

}  // namespace

const char* Name(InteractionEnd end) {
  switch (end) {
    case InteractionEnd::kAveraged:
      return "averaged";
    case InteractionEnd::kQueueFull:
      return "queue_full";
    case InteractionEnd::kBusy:
      return "busy";
    case InteractionEnd::kTimeout:
      return "timeout";
    case InteractionEnd::kTorn:
      return "torn";
    case InteractionEnd::kNotFinite:
      return "not_finite";
    case InteractionEnd::kPeerDead:
      return "peer_dead";
  }
  return "";
}

std::size_t SwarmNode::RegisterBytes(const QuantizerOptions& options, std::size_t count) {
  return SwarmLayout(Quantizer(options, count)).total_bytes();
}

SwarmNode::SwarmNode(const SwarmNodeOptions& options, std::span<const float> model, Registers& registers,
                     std::shared_ptr<SwarmWaker> waker, Clock& clock)
    : options_(options),
      clock_(clock),
      quantizer_(options.quantizer, model.size()),
      layout_(quantizer_),
      access_{.registers = registers, .layout = layout_, .waker = std::move(waker)},
      publisher_(registers, layout_),
      queue_(access_, options.rank, options.claim_timeout),
      tracker_(quantizer_.blocks(), FirstDistance(model)),
      model_(model.begin(), model.end()),
      partner_model_(model.size()),
      distances_(quantizer_.blocks()),
      versions_(static_cast<std::size_t>(options.ranks), 0),
      failures_(static_cast<std::size_t>(options.ranks), 0) {}

void SwarmNode::EnsureChange() {
  if (changed_) return;
  if (change_.empty()) change_ = std::exchange(spare_, {});
  change_.assign(model_.size(), 0.0F);
  changed_ = true;
}

std::vector<float> SwarmNode::ReleaseChange() {
  WEFT_CHECK(changed_) << "there is no change to release";
  changed_ = false;
  return std::exchange(change_, {});
}

void SwarmNode::AdoptChange(std::vector<float> change) {
  WEFT_CHECK(!changed_ && change.size() == model_.size()) << "a change of " << change.size() << " floats";
  change_ = std::move(change);
  changed_ = true;
}

void SwarmNode::GrowDistance(float displacement) {
  if (distance_known_ || displacement <= 0) return;
  distance_known_ = true;
  tracker_ = DistanceTracker(quantizer_.blocks(), kFirstDisplacements * displacement);
}

void SwarmNode::AddDisplacement(std::span<const float> displacement) {
  for (std::size_t k = 0; k < model_.size(); ++k) model_[k] += displacement[k];
  const float largest = LargestMagnitude(displacement);
  if (std::isfinite(largest)) GrowDistance(largest);
}

bool SwarmNode::Rebase(std::span<const float> weights) {
  if (!(LargestMagnitude(weights) < kLargestWeight)) return false;
  if (!distance_known_) {
    float largest = 0;
    for (std::size_t k = 0; k < model_.size(); ++k) {
      largest = std::max(largest, std::abs(weights[k] + (changed_ ? change_[k] : 0.0F) - model_[k]));
    }
    if (std::isfinite(largest)) GrowDistance(largest);
  }
  if (changed_) {
    for (std::size_t k = 0; k < model_.size(); ++k) model_[k] = weights[k] + change_[k];
  } else {
    std::ranges::copy(weights, model_.begin());
  }
  return true;
}

Status SwarmNode::Publish() {
  WEFT_RETURN_IF_ERROR(publisher_.Publish(quantizer_, model_, NextKey(), tracker_.y_max(), queue_.next_uses()));
  queue_.Published();
  const MutexLock lock(mutex_);
  ++counts_.publications;
  return OkStatus();
}

int SwarmNode::Fold() {
  const std::int64_t before = queue_.folded();
  if (queue_.ready() > 0) {
    EnsureChange();
    const std::array<std::span<float>, 2> sums = {model_, change_};
    while (queue_.Fold(quantizer_, sums)) {
    }
  }
  const std::int64_t folded = queue_.folded() - before;
  if (folded > 0) {
    const MutexLock lock(mutex_);
    counts_.folded += folded;
  }
  return static_cast<int>(folded);
}

bool SwarmNode::Busy(int partner) const {
  return std::ranges::any_of(lingering_, [&](const auto& one) { return one->record.partner == partner; });
}

bool SwarmNode::Lost(int partner) const { return failures_[static_cast<std::size_t>(partner)] >= kFailuresOfTheLost; }

void SwarmNode::CountBusy() {
  const MutexLock lock(mutex_);
  ++counts_.interactions[static_cast<std::size_t>(InteractionEnd::kBusy)];
}

void SwarmNode::CountNotFinite() {
  const MutexLock lock(mutex_);
  ++counts_.interactions[static_cast<std::size_t>(InteractionEnd::kNotFinite)];
}

void SwarmNode::Start(int partner) {
  WEFT_CHECK(!active() && Available(partner)) << "rank " << partner << " can't be asked";
  active_ = std::make_unique<Interaction>();
  active_->record.partner = partner;
  active_->record.start = clock_.Now();
  active_->deadline = active_->record.start + options_.exchange_timeout;
  active_->read.emplace(access_, partner);
  Poll();
}

void SwarmNode::Poll() {
  StepLingering();
  if (active_) StepActive();
  queue_.CloseStale(clock_.Now());
  const MutexLock lock(mutex_);
  counts_.closed_cells = queue_.closed();
}

void SwarmNode::StepActive() {
  Interaction& one = *active_;
  if (!one.append && one.read->Step(quantizer_, model_, partner_model_, distances_)) TakeRead(one);
  if (!one.counted && one.append && one.append->Step()) TakeAppend(one);
  if (one.counted) {
    active_.reset();
  } else if (clock_.Now() >= one.deadline) {
    End(one, InteractionEnd::kTimeout);
    lingering_.push_back(std::move(active_));
  }
}

// An append goes on to its end, since its delta may count already; a read is only waited for.
void SwarmNode::StepLingering() {
  std::erase_if(lingering_, [&](const std::unique_ptr<Interaction>& one) {
    if (!one->append) return one->read->idle();
    if (!one->append->Step()) return false;
    TakeAppend(*one);
    return true;
  });
}

void SwarmNode::TakeRead(Interaction& one) {
  const SwarmRead& read = *one.read;
  one.record.read = clock_.Now();
  one.record.traffic = read.traffic();
  {
    const MutexLock lock(mutex_);
    counts_.torn_reads += read.torn();
    counts_.further_digit_blocks += read.further_digit_blocks();
    counts_.raw_blocks += read.raw_blocks();
  }
  Status status = read.status();
  if (status.ok()) {
    float largest = 0;
    for (std::size_t b = 0; b < distances_.size(); ++b) {
      tracker_.Add(b, distances_[b]);
      largest = std::max(largest, distances_[b]);
    }
    std::uint32_t& last = versions_[static_cast<std::size_t>(one.record.partner)];
    {
      const MutexLock lock(mutex_);
      counts_.quantizer_distance = largest;
      if (last != 0 && read.version() > last) {
        counts_.largest_staleness = std::max<std::int64_t>(counts_.largest_staleness, read.version() - last - 1);
      }
    }
    last = read.version();
    failures_[static_cast<std::size_t>(one.record.partner)] = 0;
    if (options_.read_pending) status = read.AddPending(quantizer_, partner_model_);
  }
  if (!status.ok()) {
    Failed(one, status);
    return;
  }
  Fold();
  for (std::size_t k = 0; k < model_.size(); ++k) partner_model_[k] = 0.5F * (model_[k] - partner_model_[k]);
  auto cell = std::make_shared<std::vector<std::byte>>(layout_.cell_bytes());
  one.delta = std::exchange(partner_model_, {});
  partner_model_.resize(model_.size());
  status = quantizer_.EncodeDelta(one.delta, NextKey(), std::span(*cell).subspan(kWordBytes, layout_.delta_bytes()),
                                  one.delta);
  if (!status.ok()) {
    Failed(one, status);
    return;
  }
  one.append.emplace(access_, options_.rank, one.record.partner, read.claims(), next_delta_++, std::move(cell));
}

void SwarmNode::TakeAppend(Interaction& one) {
  const SwarmAppend& append = *one.append;
  one.record.traffic.operations += append.traffic().operations;
  one.record.traffic.sent_bytes += append.traffic().sent_bytes;
  one.record.traffic.received_bytes += append.traffic().received_bytes;
  switch (append.end()) {
    case SwarmAppend::End::kAppended: {
      EnsureChange();
      for (std::size_t k = 0; k < model_.size(); ++k) {
        model_[k] -= one.delta[k];
        change_[k] -= one.delta[k];
      }
      {
        const MutexLock lock(mutex_);
        ++counts_.appended;
      }
      End(one, InteractionEnd::kAveraged);
      break;
    }
    case SwarmAppend::End::kFull:
      End(one, InteractionEnd::kQueueFull);
      break;
    case SwarmAppend::End::kClosed:
      End(one, InteractionEnd::kTimeout);
      break;
    case SwarmAppend::End::kFailed:
      Failed(one, append.status());
      break;
  }
}

void SwarmNode::Failed(Interaction& one, const Status& status) {
  InteractionEnd end = InteractionEnd::kNotFinite;  // DATA_LOSS, INVALID_ARGUMENT
  if (status.code() == StatusCode::kAborted) end = InteractionEnd::kTorn;
  if (status.code() == StatusCode::kUnavailable) end = InteractionEnd::kPeerDead;
  if (status.code() == StatusCode::kCancelled) failure_ = status;
  int& failures = failures_[static_cast<std::size_t>(one.record.partner)];
  if (end == InteractionEnd::kPeerDead) ++failures;
  // One line for each kind, and one for each partner that is gone; of the rest the counters tell.
  const bool told = std::exchange(named_[static_cast<std::size_t>(end)], true);
  if (failure_.ok() && (!told || (end == InteractionEnd::kPeerDead && failures == 1))) {
    LogWarning("interaction failed",
               {{"partner", one.record.partner}, {"result", Name(end)}, {"error", status.message()}});
  }
  End(one, end);
}

void SwarmNode::End(Interaction& one, InteractionEnd end) {
  if (end == InteractionEnd::kTimeout && !one.counted && !std::exchange(named_[static_cast<std::size_t>(end)], true)) {
    LogWarning(
        "interaction failed",
        {{"partner", one.record.partner}, {"result", Name(end)}, {"after_s", ToSeconds(options_.exchange_timeout)}});
  }
  const MutexLock lock(mutex_);
  if (one.counted) {  // it was given up before; its append has been under way since then
    counts_.traffic.operations += one.append->traffic().operations;
    counts_.traffic.sent_bytes += one.append->traffic().sent_bytes;
    counts_.traffic.received_bytes += one.append->traffic().received_bytes;
    return;
  }
  one.counted = true;
  one.record.end = end;
  one.record.finish = clock_.Now();
  if (!one.append && one.read) one.record.traffic = one.read->traffic();
  ++counts_.interactions[static_cast<std::size_t>(end)];
  counts_.traffic.operations += one.record.traffic.operations;
  counts_.traffic.sent_bytes += one.record.traffic.sent_bytes;
  counts_.traffic.received_bytes += one.record.traffic.received_bytes;
  exchanges_.push_back(one.record);
}

std::optional<TimePoint> SwarmNode::deadline() const {
  if (active_) return active_->deadline;
  return std::nullopt;
}

InteractionEnd SwarmNode::Interact(int partner) {
  Start(partner);
  while (active_) {
    access_.waker->WaitUntil(std::min(active_->deadline, clock_.Now() + kLongWait));
    Poll();
  }
  return exchanges_.back().end;
}

std::vector<int> SwarmNode::Unsettled() const {
  std::vector<int> partners;
  if (active_) partners.push_back(active_->record.partner);
  for (const auto& one : lingering_) {
    if (one->append) partners.push_back(one->record.partner);
  }
  return partners;
}

SwarmCounts SwarmNode::counts() const {
  const MutexLock lock(mutex_);
  return counts_;
}

}  // namespace weft
