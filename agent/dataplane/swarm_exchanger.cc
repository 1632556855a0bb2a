#include "agent/dataplane/swarm_exchanger.h"

#include <algorithm>
#include <string>
#include <utility>

#include "agent/core/sampler.h"
#include "common/log.h"
#include "common/math/counter_hash.h"

namespace weft {
namespace {

// Looking at an idle queue takes some microseconds; at the first interval that is well under 1 % of a core. Where
// others fill the queue faster than that, folding what they write costs more than looking.
constexpr Duration kFirstPoll = std::chrono::milliseconds(1);
constexpr Duration kShortestPoll = std::chrono::microseconds(125);
constexpr Duration kLongestPoll = std::chrono::milliseconds(8);
// Half of the queue.
constexpr int kFoldAt = kSwarmCells / 2;
// The part of a round in which interactions begin; what is left is for them to end in.
constexpr double kInteractionWindow = 0.75;
// Of an interaction in vain, in one round.
constexpr int kRetries = 2;
constexpr std::uint64_t kTimeStream = std::uint64_t{0x7} << 32;
constexpr Duration kIdleWait = std::chrono::seconds(1);

}  // namespace

SwarmExchanger::SwarmExchanger(SwarmExchangerOptions options, std::span<const float> weights, Registers& registers,
                               Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      waker_(std::make_shared<SwarmWaker>()),
      node_(options_.node, weights, registers, waker_, clock),
      round_start_(clock.Now()),
      round_end_(round_start_),
      poll_interval_(kFirstPoll),
      park_wanted_(true) {
  node_.SkipKeys(options_.first_key);
  thread_ = std::thread([this] { Run(); });
}

SwarmExchanger::~SwarmExchanger() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    parked_changed_.NotifyAll();
  }
  waker_->Wake();
  thread_.join();
}

SwarmExchanger::Changes SwarmExchanger::TakeChanges() {
  const MutexLock lock(mutex_);
  // Weights that were left before do not hold what is taken now; they will be left again with it.
  if (left_weights_) free_weights_ = *std::exchange(left_weights_, std::nullopt);
  return std::exchange(offered_, {});
}

bool SwarmExchanger::has_restored() const {
  const MutexLock lock(mutex_);
  return offered_.restored.has_value();
}

void SwarmExchanger::AwaitInteraction(TimePoint deadline) {
  {
    const MutexLock lock(mutex_);
    if (settled_) return;
    hurry_wanted_ = true;
  }
  waker_->Wake();
  const MutexLock lock(mutex_);
  while (!settled_ && failure_.ok()) {
    if (!settled_changed_.WaitUntil(mutex_, deadline)) break;
  }
  hurry_wanted_ = false;
}

std::vector<float> SwarmExchanger::TakeBuffer() {
  std::vector<float> buffer;
  {
    const MutexLock lock(mutex_);
    buffer = std::exchange(free_weights_, {});
  }
  buffer.resize(node_.model().size());
  return buffer;
}

void SwarmExchanger::LeaveWeights(std::vector<float> weights, Changes spent) {
  {
    const MutexLock lock(mutex_);
    left_weights_ = std::move(weights);
    left_at_ = clock_.Now();
    settled_ = false;
    if (spent.change) spent_change_ = std::move(*spent.change);
  }
  waker_->Wake();
}

Status SwarmExchanger::Park(TimePoint deadline) {
  {
    const MutexLock lock(mutex_);
    park_wanted_ = true;
  }
  waker_->Wake();
  const MutexLock lock(mutex_);
  while (!parked_) {
    if (parked_changed_.WaitUntil(mutex_, deadline) || parked_) continue;
    park_wanted_ = false;
    std::string ranks;
    for (const int rank : unsettled_) ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
    return DeadlineExceededError("an exchange with rank " + ranks + " has not ended");
  }
  return failure_;
}

void SwarmExchanger::Resume() {
  const MutexLock lock(mutex_);
  park_wanted_ = false;
  parked_changed_.NotifyAll();
}

Status SwarmExchanger::failure() const {
  const MutexLock lock(mutex_);
  return failure_;
}

std::vector<SwarmExchange> SwarmExchanger::TakeExchanges() {
  const MutexLock lock(mutex_);
  return std::exchange(exchanges_, {});
}

void SwarmExchanger::Run() {
  while (AwaitTurn()) {
    Work();
    EndTurn();
    waker_->WaitUntil(NextTurn());
  }
}

bool SwarmExchanger::AwaitTurn() {
  const MutexLock lock(mutex_);
  while (park_wanted_ && !stopping_ && node_.Unsettled().empty()) {
    if (!std::exchange(parked_, true)) parked_changed_.NotifyAll();
    parked_changed_.WaitUntil(mutex_, clock_.Now() + kIdleWait);
  }
  parked_ = false;
  parking_ = park_wanted_;
  hurrying_ = hurry_wanted_;
  weights_ = std::exchange(left_weights_, std::nullopt);
  if (weights_) {
    round_start_ = std::exchange(round_end_, left_at_);
    // Left by a trainer that did not see them: its weights are not finite still.
    restoring_ = std::exchange(offered_.restored, std::nullopt).has_value();
  }
  if (offered_.change) node_.AdoptChange(*std::exchange(offered_.change, std::nullopt));
  if (!spent_change_.empty()) node_.GiveBuffer(std::exchange(spent_change_, {}));
  return !stopping_;
}

void SwarmExchanger::Work() {
  if (weights_) TakeWeights(*weights_);
  const bool was_active = node_.active();
  node_.Poll();
  bool ended = was_active && !node_.active();
  if (!node_.active() && !parking_ && interaction_at_ && (hurrying_ || clock_.Now() >= *interaction_at_)) {
    interaction_at_.reset();
    StartInteraction();
    ended = ended || !node_.active();
  }
  if (ended && InVain(node_.last_end()) && !interaction_at_ && retries_-- > 0) interaction_at_ = clock_.Now();
  const bool filled = node_.waiting() >= kFoldAt;
  if (ended || filled) FoldAndPublish();
  if (filled) {
    poll_interval_ = std::max(poll_interval_ / 4, kShortestPoll);
  } else {
    poll_interval_ = ended || weights_ ? kFirstPoll : std::min(2 * poll_interval_, kLongestPoll);
  }
}

// Whether to try another partner: this one is busy with others, gone, or does not come to fold what it was given.
bool SwarmExchanger::InVain(InteractionEnd end) const {
  const bool has_others = options_.topology.degree(options_.node.rank) > 1;
  return end == InteractionEnd::kBusy || end == InteractionEnd::kPeerDead ||
         (end == InteractionEnd::kQueueFull && has_others);
}

void SwarmExchanger::FoldAndPublish() {
  node_.Fold();
  if (const Status status = node_.Publish(); !status.ok()) {
    LogWarning("model not published", {{"error", status.message()}});
    node_.CountNotFinite();
  }
}

void SwarmExchanger::TakeWeights(const std::vector<float>& weights) {
  if (restoring_ || !node_.Rebase(weights)) {
    Recover();
    return;
  }
  FoldAndPublish();
  // One that has not begun by now begins at once, instead of this round's.
  if (interaction_at_) {
    interaction_at_ = round_end_;
    return;
  }
  const double unit =
      UnitInterval(CounterHash(options_.seed, kTimeStream | static_cast<std::uint32_t>(options_.node.rank), draws_));
  const double round_s = ToSeconds(round_end_ - round_start_);
  retries_ = kRetries;
  interaction_at_ = round_end_ + FromSeconds(kInteractionWindow * unit * round_s);
}

// The node's model still is the last good one with all changes since, which nobody but this node has seen otherwise.
void SwarmExchanger::Recover() {
  if (!restoring_) {
    node_.CountNotFinite();
    LogWarning("the weights are not finite: going on with the last model that was published",
               {{"rank", options_.node.rank}});
  }
  if (node_.changed()) node_.GiveBuffer(node_.ReleaseChange());
  const std::span<const float> model = node_.model();
  const MutexLock lock(mutex_);
  offered_.restored.emplace(model.begin(), model.end());
}

void SwarmExchanger::StartInteraction() {
  const int degree = options_.topology.degree(options_.node.rank);
  for (int tries = 0; tries < 4 * degree; ++tries) {
    const int partner = DrawPartner(options_.topology, options_.seed, options_.node.rank, draws_++);
    if (node_.Available(partner)) {
      node_.Start(partner);
      return;
    }
    if (node_.Busy(partner)) node_.CountBusy();
  }
}

void SwarmExchanger::EndTurn() {
  const MutexLock lock(mutex_);
  if (node_.changed()) offered_.change = node_.ReleaseChange();
  if (weights_) free_weights_ = *std::exchange(weights_, std::nullopt);
  for (const SwarmExchange& exchange : node_.TakeExchanges()) exchanges_.push_back(exchange);
  unsettled_ = node_.Unsettled();
  failure_ = node_.failure();
  settled_ = !left_weights_ && !interaction_at_ && !node_.active();
  if (settled_ || !failure_.ok()) settled_changed_.NotifyAll();
}

TimePoint SwarmExchanger::NextTurn() {
  TimePoint next = clock_.Now() + poll_interval_;
  if (const auto deadline = node_.deadline()) next = std::min(next, *deadline);
  if (interaction_at_ && !node_.active() && !parking_) next = std::min(next, *interaction_at_);
  return next;
}

}  // namespace weft
