#include "agent/dataplane/swarm_node.h"

#include <algorithm>
#include <cmath>

#include "agent/core/update_rule.h"
#include "agent/dataplane/swarm_vectors.h"
#include "common/check.h"
#include "common/log.h"
#include "common/math/counter_hash.h"

namespace weft {
namespace {

// Of X_0's publication, relative to the largest weight, until a displacement is known: all models are equal then.
constexpr float kFirstDistance = 0x1p-7F;
// Two nodes' first displacements point in any directions.
constexpr float kFirstDisplacements = 2;
// Two bits are too coarse for the distances seen: the code's error would be larger than what nodes are apart, and would
// feed itself (docs/design/swarm.md). So they are for a quarter, and readers take the next digit too.
constexpr float kTwoBitsPart = 0.25F;
// A message that was lost looks like a partner that is gone.
constexpr int kFailuresOfTheLost = 3;
// What the quantizer refuses, and room for a change on top.
constexpr float kLargestWeight = 0x1p99F;
// Of a distance that is not measured yet; a model with larger ones is refused when it is published.
constexpr float kLargestGuess = 0x1p98F;
constexpr int kConflicts = 4;
constexpr Duration kShortestConflict = std::chrono::microseconds(20);
constexpr std::uint64_t kConflictStream = std::uint64_t{0x8} << 32;

float FirstDistance(std::span<const float> model) {
  const float largest = LargestMagnitude(model);
  return std::isfinite(largest) ? std::min(kFirstDistance * largest, kLargestGuess) : 1;
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
      published_y_max_(quantizer_.blocks()),
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
  tracker_ = DistanceTracker(quantizer_.blocks(), std::min(kFirstDisplacements * displacement, kLargestGuess));
}

void SwarmNode::AddDisplacement(std::span<const float> displacement) {
  AddInto(model_, displacement);
  const float largest = LargestMagnitude(displacement);
  if (std::isfinite(largest)) GrowDistance(largest);
}

bool SwarmNode::Rebase(std::span<const float> weights) {
  if (!(LargestMagnitude(weights) < kLargestWeight)) return false;
  const std::span<const float> change = changed_ ? std::span<const float>(change_) : std::span<const float>();
  if (!distance_known_) {
    const float largest = LargestDistance(weights, change, model_);
    if (std::isfinite(largest)) GrowDistance(largest);
  }
  if (changed_) {
    AddTo(model_, weights, change);
  } else {
    std::ranges::copy(weights, model_.begin());
  }
  return true;
}

Status SwarmNode::Publish() {
  const float part = options_.quantizer.bits == 2 ? kTwoBitsPart : 1;
  std::ranges::transform(tracker_.y_max(), published_y_max_.begin(), [part](float y) { return part * y; });
  WEFT_RETURN_IF_ERROR(publisher_.Publish(quantizer_, model_, NextKey(), published_y_max_, queue_.next_uses()));
  queue_.Published();
  const MutexLock lock(mutex_);
  ++counts_.publications;
  return OkStatus();
}

int SwarmNode::Fold() {
  const std::int64_t before = queue_.folded(), refused_before = queue_.refused();
  if (queue_.ready() > 0) {
    EnsureChange();
    const std::array<std::span<float>, 2> sums = {model_, change_};
    while (queue_.Fold(quantizer_, sums)) {
    }
  }
  const std::int64_t folded = queue_.folded() - before;
  const std::int64_t refused = queue_.refused() - refused_before;
  if (folded + refused > 0) {
    const MutexLock lock(mutex_);
    counts_.folded += folded;
    counts_.refused += refused;
    counts_.interactions[static_cast<std::size_t>(InteractionEnd::kNotFinite)] += refused;
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
  const TimePoint now = clock_.Now();
  if (one.begin_again && now >= *one.begin_again) {
    one.begin_again.reset();
    one.read.emplace(access_, one.record.partner);
  }
  if (one.read && one.read->Step(quantizer_, model_, partner_model_, distances_)) TakeRead(one);
  if (!one.counted && one.append && one.append->Step()) TakeAppend(one);
  if (!one.counted && now >= one.deadline) {
    if (one.read) Account(one, one.read->traffic());
    End(one, InteractionEnd::kTimeout);
    if (one.read || one.append) {
      lingering_.push_back(std::move(active_));
      return;
    }
  }
  if (one.counted) active_.reset();
}

// An append goes on to its end, since its delta may count already; a read is only waited for.
void SwarmNode::StepLingering() {
  std::erase_if(lingering_, [&](const std::unique_ptr<Interaction>& one) {
    if (one->read) return one->read->idle();
    if (!one->append->Step()) return false;
    TakeAppend(*one);
    return true;
  });
}

void SwarmNode::TakeRead(Interaction& one) {
  const SwarmRead read = *std::exchange(one.read, std::nullopt);
  one.record.read = clock_.Now();
  Account(one, read.traffic());
  {
    const MutexLock lock(mutex_);
    counts_.torn_reads += read.torn();
    counts_.further_digit_blocks += read.further_digit_blocks();
    counts_.raw_blocks += read.raw_blocks();
  }
  Status status = read.status();
  if (status.ok()) {
    TakeDistances(read, one.record.partner);
    if (options_.read_pending) status = read.AddPending(quantizer_, partner_model_);
  }
  if (!status.ok()) {
    Failed(one, status);
    return;
  }
  Fold();
  if (queue_.disturbed()) {
    Conflict(one);
    return;
  }
  one.claims = read.claims();
  StartAppend(one);
}

void SwarmNode::TakeDistances(const SwarmRead& read, int partner) {
  float largest = 0;
  for (std::size_t b = 0; b < distances_.size(); ++b) {
    tracker_.Add(b, distances_[b]);
    largest = std::max(largest, distances_[b]);
  }
  failures_[static_cast<std::size_t>(partner)] = 0;
  const std::uint32_t last = std::exchange(versions_[static_cast<std::size_t>(partner)], read.version());
  const MutexLock lock(mutex_);
  counts_.quantizer_distance = static_cast<double>(largest);
  if (last == 0 || read.version() <= last) return;
  counts_.largest_staleness = std::max<std::int64_t>(counts_.largest_staleness, read.version() - last - 1);
}

void SwarmNode::StartAppend(Interaction& one) {
  HalfDifferenceInto(partner_model_, model_);
  one.delta.swap(partner_model_);
  partner_model_.resize(model_.size());
  auto cell = std::make_shared<std::vector<std::byte>>(layout_.cell_bytes());
  const Status status = quantizer_.EncodeDelta(one.delta, NextKey(),
                                               std::span(*cell).subspan(kWordBytes, layout_.delta_bytes()), one.delta);
  if (!status.ok()) {
    Failed(one, status);
    return;
  }
  one.append.emplace(access_, options_.rank, one.record.partner, one.claims, next_delta_++, std::move(cell), queue_);
}

void SwarmNode::TakeAppend(Interaction& one) {
  const SwarmAppend append = *std::exchange(one.append, std::nullopt);
  Account(one, append.traffic());
  switch (append.end()) {
    case SwarmAppend::End::kAppended: {
      EnsureChange();
      SubtractInto(model_, one.delta);
      SubtractInto(change_, one.delta);
      {
        const MutexLock lock(mutex_);
        ++counts_.appended;
      }
      End(one, InteractionEnd::kAveraged);
      break;
    }
    case SwarmAppend::End::kConflict:
      Conflict(one);
      break;
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

// As long again as it has taken so far, give or take half, so that those who have met do not meet again.
void SwarmNode::Conflict(Interaction& one) {
  if (one.counted) return;  // it was given up before
  std::uint64_t number = 0;
  {
    const MutexLock lock(mutex_);
    number = static_cast<std::uint64_t>(++counts_.conflicts);
  }
  if (++one.conflicts >= kConflicts) {
    End(one, InteractionEnd::kBusy);
    return;
  }
  const double unit = UnitInterval(
      CounterHash(options_.quantizer.seed, kConflictStream | static_cast<std::uint32_t>(options_.rank), number));
  const TimePoint now = clock_.Now();
  one.begin_again = now + FromSeconds((0.5 + unit) * ToSeconds(std::max(now - one.record.start, kShortestConflict)));
}

void SwarmNode::Account(Interaction& one, const SwarmTraffic& traffic) {
  const MutexLock lock(mutex_);
  for (SwarmTraffic* sum : {&one.record.traffic, &counts_.traffic}) {
    sum->operations += traffic.operations;
    sum->sent_bytes += traffic.sent_bytes;
    sum->received_bytes += traffic.received_bytes;
  }
}

void SwarmNode::Failed(Interaction& one, const Status& status) {
  if (status.code() == StatusCode::kFailedPrecondition) {
    Conflict(one);
    return;
  }
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
  if (std::exchange(one.counted, true)) return;  // it was given up before
  last_end_ = end;
  one.record.end = end;
  one.record.finish = clock_.Now();
  ++counts_.interactions[static_cast<std::size_t>(end)];
  exchanges_.push_back(one.record);
}

std::optional<TimePoint> SwarmNode::deadline() const {
  if (!active_) return std::nullopt;
  return active_->begin_again ? std::min(*active_->begin_again, active_->deadline) : active_->deadline;
}

InteractionEnd SwarmNode::Interact(int partner) {
  Start(partner);
  while (active_) {
    access_.waker->WaitUntil(*deadline());
    Poll();
  }
  return last_end_;
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
