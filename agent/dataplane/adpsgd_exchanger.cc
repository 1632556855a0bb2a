#include "agent/dataplane/adpsgd_exchanger.h"

#include <algorithm>
#include <utility>

#include "agent/core/sampler.h"
#include "common/math/finite.h"

namespace weft {
namespace {

constexpr Duration kIdleWait = std::chrono::seconds(1);
// How often a wait looks whether the exchange has failed meanwhile.
constexpr Duration kLook = std::chrono::milliseconds(50);
// A partner that is not free is drawn again, under another number, so often; then the averaging is left out.
constexpr std::uint64_t kDraws = 64;
constexpr float kRequest = 1, kFarewell = 0;  // a header's value

Tag HeaderTag() { return {MessageKind::kPeer, 0, 0}; }
Tag ModelTag() { return {MessageKind::kPeer, 1, 0}; }
Tag ReplyTag() { return {MessageKind::kPeer, 2, 0}; }

}  // namespace

AdpsgdExchanger::AdpsgdExchanger(const Options& options, const Topology& topology, int rank, AdpsgdModel& model,
                                 PeerExchange& exchange, Clock& clock, std::function<void(const std::string&)> count)
    : options_(options),
      topology_(topology),
      rank_(rank),
      model_(model),
      exchange_(exchange),
      clock_(clock),
      count_(std::move(count)),
      events_(std::make_shared<EventQueue<Event>>()) {
  for (const int neighbour : topology_.neighbours(rank)) {
    neighbours_.emplace_back();
    neighbours_.back().rank = neighbour;
    neighbours_.back().header = std::make_shared<std::vector<float>>(1);
  }
  open_.assign(neighbours_.size(), 0);
  farewells_.assign(neighbours_.size(), 2);
  for (Neighbour& neighbour : neighbours_) AwaitHeader(neighbour);
  thread_ = std::thread([this] { Loop(); });
}

AdpsgdExchanger::~AdpsgdExchanger() {
  events_->Push({.step = Step::kStop, .status = {}});
  thread_.join();
}

void AdpsgdExchanger::Initiate(std::int64_t iteration) {
  {
    const MutexLock lock(mutex_);
    under_way_ = true;
  }
  events_->Push({.step = Step::kInitiate, .iteration = iteration, .status = {}});
}

void AdpsgdExchanger::AwaitAveraging() {
  // The exchanger's thread ends it by then; it is not held up by partners.
  const TimePoint deadline = clock_.Now() + options_.exchange_timeout;
  const MutexLock lock(mutex_);
  while (under_way_ && exchange_.status().ok() && clock_.Now() < deadline) {
    changed_.WaitUntil(mutex_, std::min(deadline, clock_.Now() + kLook));
  }
}

void AdpsgdExchanger::Settle() {
  const MutexLock lock(mutex_);
  under_way_ = false;
  changed_.NotifyAll();
}

Status AdpsgdExchanger::Quiesce() {
  const MutexLock lock(mutex_);
  accepting_ = false;
  return WaitForNone(open_, "end its averaging");
}

void AdpsgdExchanger::Resume() {
  const MutexLock lock(mutex_);
  accepting_ = true;
}

Status AdpsgdExchanger::Farewell() {
  events_->Push({.step = Step::kFarewell, .status = {}});
  const MutexLock lock(mutex_);
  return WaitForNone(farewells_, "say that it has finished");
}

Status AdpsgdExchanger::WaitForNone(const std::vector<int>& counts, const std::string& what) {
  const TimePoint deadline = clock_.Now() + options_.peer_timeout;
  while (true) {
    const auto missing = std::ranges::find_if(counts, [](int count) { return count > 0; });
    if (missing == counts.end()) return OkStatus();
    WEFT_RETURN_IF_ERROR(exchange_.status());
    if (clock_.Now() >= deadline) {
      const int rank = topology_.neighbours(rank_)[static_cast<std::size_t>(missing - counts.begin())];
      return exchange_.Fail(DeadlineExceededError("rank " + std::to_string(rank) + " did not " + what + " within " +
                                                  std::to_string(ToSeconds(options_.peer_timeout)) + " s"),
                            rank);
    }
    changed_.WaitUntil(mutex_, std::min(deadline, clock_.Now() + kLook));
  }
}

std::vector<AdpsgdExchanger::Averaged> AdpsgdExchanger::TakeAveraged() {
  const MutexLock lock(mutex_);
  return std::exchange(averaged_, {});
}

void AdpsgdExchanger::Loop() {
  while (true) {
    TimePoint wake = clock_.Now() + kIdleWait;
    if (current_.has_value()) {
      const TimePoint limit = neighbours_[static_cast<std::size_t>(*current_)].start + options_.exchange_timeout;
      if (clock_.Now() >= limit) {
        current_.reset();
        count_("timeout");
        Settle();
        continue;
      }
      wake = std::min(wake, limit);
    }
    const std::optional<Event> event = events_->PopUntil(wake);
    if (!event.has_value()) continue;
    if (event->step == Step::kStop) return;
    Handle(*event);
  }
}

void AdpsgdExchanger::Handle(const Event& event) {
  if (event.step == Step::kInitiate) {
    if (!OnInitiate(event.iteration)) Settle();
    return;
  }
  if (event.step == Step::kFarewell) {
    for (Neighbour& neighbour : neighbours_) SendFarewell(neighbour);
    return;
  }
  Neighbour& neighbour = neighbours_[static_cast<std::size_t>(event.n)];
  if (event.step == Step::kHeaderSent) OnHeaderSent(neighbour, event.status);
  if (event.step == Step::kModelSent) OnModelSent(neighbour, event.status);
  if (event.step == Step::kReplyCome) OnReplyCome(neighbour, event.status);
  if (event.step == Step::kHeaderCome) OnHeaderCome(neighbour, event.status);
  if (event.step == Step::kModelCome) OnModelCome(neighbour, event.status);
  if (event.step == Step::kReplySent) OnReplySent(neighbour, event.status);
  if (event.step == Step::kFarewellSent) OnFarewellSent(neighbour, event.status);
}

std::function<void(const Status&)> AdpsgdExchanger::Tell(Step step, const Neighbour& neighbour) const {
  return [step, n = PlaceOf(neighbour), events = events_](const Status& status) {
    events->Push({.step = step, .n = n, .status = status});
  };
}

AdpsgdExchanger::Floats AdpsgdExchanger::TakeBuffer() {
  if (free_.empty()) return std::make_shared<std::vector<float>>(model_.size());
  Floats buffer = std::move(free_.back());
  free_.pop_back();
  return buffer;
}

bool AdpsgdExchanger::Lost(const Neighbour& neighbour, const Status& status) const {
  return status.code() == StatusCode::kUnavailable && !neighbour.dead && !exchange_.gone(neighbour.rank) &&
         exchange_.status().ok();
}

std::optional<int> AdpsgdExchanger::DrawFree(std::int64_t iteration) const {
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    const int rank =
        DrawPartner(topology_, options_.seed, rank_, static_cast<std::uint64_t>(iteration) + (draw << 40U));
    const auto found = std::ranges::find(neighbours_, rank, &Neighbour::rank);
    if (!found->open && !found->dead) return static_cast<int>(found - neighbours_.begin());
  }
  return std::nullopt;
}

bool AdpsgdExchanger::OnInitiate(std::int64_t iteration) {
  const std::optional<int> drawn = current_.has_value() ? std::nullopt : DrawFree(iteration);
  if (!drawn.has_value()) {
    const bool all_dead = std::ranges::all_of(neighbours_, &Neighbour::dead);
    count_(all_dead ? "peer_dead" : "busy");
    return false;
  }
  Neighbour& neighbour = neighbours_[static_cast<std::size_t>(*drawn)];
  {
    const MutexLock lock(mutex_);
    if (!accepting_) return false;
    open_[static_cast<std::size_t>(*drawn)] = 1;
  }
  current_ = drawn;
  neighbour.open = true;
  neighbour.iteration = iteration;
  neighbour.start = clock_.Now();
  neighbour.sent = TakeBuffer();
  const auto header = std::make_shared<std::vector<float>>(1, kRequest);
  exchange_.Send(neighbour.rank, HeaderTag(), *header, "a header", header, Tell(Step::kHeaderSent, neighbour));
  return true;
}

void AdpsgdExchanger::OnHeaderSent(Neighbour& neighbour, const Status& status) {
  if (!status.ok()) {
    Close(neighbour, Lost(neighbour, status) ? "lost" : "peer_dead");
    return;
  }
  // Only now, so that it is as fresh as can be.
  model_.Read(*neighbour.sent);
  if (!AllFinite(*neighbour.sent)) {
    exchange_.SendTombstone(neighbour.rank, ModelTag());
    Close(neighbour, "not_finite");
    return;
  }
  exchange_.Send(neighbour.rank, ModelTag(), *neighbour.sent, "a model", neighbour.sent,
                 Tell(Step::kModelSent, neighbour));
}

void AdpsgdExchanger::OnModelSent(Neighbour& neighbour, const Status& status) {
  if (status.ok()) {
    neighbour.reply_in = TakeBuffer();
    exchange_.Receive(neighbour.rank, ReplyTag(), *neighbour.reply_in, "a reply", neighbour.reply_in,
                      Tell(Step::kReplyCome, neighbour));
    return;
  }
  const bool lost = Lost(neighbour, status);
  if (lost) exchange_.SendTombstone(neighbour.rank, ModelTag());
  Close(neighbour, lost ? "lost" : "peer_dead");
}

void AdpsgdExchanger::OnReplyCome(Neighbour& neighbour, const Status& status) {
  if (status.ok()) {
    model_.ApplyReply(*neighbour.reply_in, *neighbour.sent);
    const MutexLock lock(mutex_);
    averaged_.push_back(
        {.partner = neighbour.rank, .iteration = neighbour.iteration, .start = neighbour.start, .end = clock_.Now()});
  }
  Close(neighbour, status.ok()                              ? "averaged"
                   : status.code() == StatusCode::kDataLoss ? "not_finite"  // an empty reply
                                                            : "peer_dead");
}

void AdpsgdExchanger::Close(Neighbour& neighbour, const std::string& result) {
  if (neighbour.sent != nullptr) free_.push_back(std::exchange(neighbour.sent, nullptr));
  if (neighbour.reply_in != nullptr) free_.push_back(std::exchange(neighbour.reply_in, nullptr));
  neighbour.open = false;
  const int n = PlaceOf(neighbour);
  const bool was_current = current_ == n;
  if (was_current) current_.reset();
  count_(result);
  const MutexLock lock(mutex_);
  if (was_current) under_way_ = false;
  open_[static_cast<std::size_t>(n)] = 0;
  changed_.NotifyAll();
}

void AdpsgdExchanger::AwaitHeader(Neighbour& neighbour) {
  exchange_.Receive(neighbour.rank, HeaderTag(), *neighbour.header, "a header", neighbour.header,
                    Tell(Step::kHeaderCome, neighbour));
}

void AdpsgdExchanger::OnHeaderCome(Neighbour& neighbour, const Status& status) {
  if (!status.ok()) {
    OnDead(neighbour);
  } else if (neighbour.header->front() == kRequest) {
    neighbour.model_in = TakeBuffer();
    exchange_.Receive(neighbour.rank, ModelTag(), *neighbour.model_in, "a model", neighbour.model_in,
                      Tell(Step::kModelCome, neighbour));
  } else {
    const MutexLock lock(mutex_);
    --farewells_[static_cast<std::size_t>(PlaceOf(neighbour))];
    changed_.NotifyAll();
  }
}

void AdpsgdExchanger::OnModelCome(Neighbour& neighbour, const Status& status) {
  const Floats model = std::exchange(neighbour.model_in, nullptr);
  if (status.code() == StatusCode::kDataLoss) {  // the empty message in place of one that was lost
    AwaitHeader(neighbour);
  } else if (!status.ok()) {
    OnDead(neighbour);
  } else {
    neighbour.reply_out = TakeBuffer();
    if (model_.AverageWith(*model, *neighbour.reply_out)) {
      SendReply(neighbour);
    } else {
      free_.push_back(std::exchange(neighbour.reply_out, nullptr));
      exchange_.SendTombstone(neighbour.rank, ReplyTag());
      count_("not_finite");
      AwaitHeader(neighbour);
    }
  }
  free_.push_back(model);
}

void AdpsgdExchanger::SendReply(Neighbour& neighbour) {
  exchange_.Send(neighbour.rank, ReplyTag(), *neighbour.reply_out, "a reply", neighbour.reply_out,
                 Tell(Step::kReplySent, neighbour));
}

void AdpsgdExchanger::OnReplySent(Neighbour& neighbour, const Status& status) {
  if (Lost(neighbour, status)) {  // this side's half is done, so the other's has to be
    SendReply(neighbour);
    return;
  }
  free_.push_back(std::exchange(neighbour.reply_out, nullptr));
  if (status.ok()) {
    AwaitHeader(neighbour);
  } else {
    OnDead(neighbour);
  }
}

void AdpsgdExchanger::SendFarewell(Neighbour& neighbour) {
  const auto header = std::make_shared<std::vector<float>>(1, kFarewell);
  exchange_.Send(neighbour.rank, HeaderTag(), *header, "a farewell", header, Tell(Step::kFarewellSent, neighbour));
}

void AdpsgdExchanger::OnFarewellSent(Neighbour& neighbour, const Status& status) {
  if (Lost(neighbour, status)) {
    SendFarewell(neighbour);
    return;
  }
  const MutexLock lock(mutex_);
  --farewells_[static_cast<std::size_t>(PlaceOf(neighbour))];
  changed_.NotifyAll();
}

// Its farewell does not come any more.
void AdpsgdExchanger::OnDead(Neighbour& neighbour) {
  if (std::exchange(neighbour.dead, true)) return;
  const MutexLock lock(mutex_);
  --farewells_[static_cast<std::size_t>(PlaceOf(neighbour))];
  changed_.NotifyAll();
}

}  // namespace weft
