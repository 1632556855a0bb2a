#include "agent/dataplane/peer_exchange.h"

#include <algorithm>
#include <cstddef>

#include "agent/transport/all_reduce.h"
#include "common/check.h"

namespace weft {
namespace {

constexpr Duration kFarewell = std::chrono::seconds(1);
// More than any link that carries anything takes; each failure of one to a rank that is gone ends at once.
constexpr int kTombstoneAttempts = 1000;

std::size_t Index(int rank) { return static_cast<std::size_t>(rank); }
std::string RankName(int rank) { return "rank " + std::to_string(rank); }

}  // namespace

class PeerExchange::Transfer {
 public:
  // Constant after Begin.
  int peer = -1;  // -1: all, a sum
  std::string what;
  Memory memory;
  std::int64_t bytes_out = 0;
  std::int64_t bytes_in = 0;
  std::int64_t sum_number = 0;  // of sums, from 1
  TimePoint start{};
  std::shared_ptr<State> state;

  // Guarded by the state's mutex.
  bool ended = false;
  Status status;
  TimePoint end{};
};

struct PeerExchange::State : std::enable_shared_from_this<State> {
  State(const Options& options_in, Transport& transport_in, Clock& clock_in)
      : options(options_in),
        transport(transport_in),
        clock(clock_in),
        self(transport_in.rank()),
        gone(Index(options_in.ranks), false),
        said_goodbye(Index(options_in.ranks), false),
        barriers(Index(options_in.ranks), 0),
        answers(Index(options_in.ranks)) {}

  struct Answer {
    bool come = false;
    bool waiting = false;   // for somebody itself
    std::int64_t sums = 0;  // that it had begun
  };

  // All of these run on any thread.
  void ReceiveControl(int from) WEFT_EXCLUDES(mutex) {
    const auto buffer = std::make_shared<ControlBuffer>();
    transport.Receive(
        from, Tag(MessageKind::kControl, 0, 0), *buffer,
        [from, buffer, state = shared_from_this()](const Status& status) { state->OnControl(from, status, *buffer); });
  }
  void SendControl(int to, ControlMessage message, bool awaited = true) WEFT_EXCLUDES(mutex) {
    message.generation = options.generation;
    const auto buffer = std::make_shared<ControlBuffer>(EncodeControl(message));
    if (awaited) {
      const MutexLock lock(mutex);
      ++control_under_way;
    }
    transport.Send(to, Tag(MessageKind::kControl, 0, 0), *buffer,
                   [to, awaited, buffer, state = shared_from_this()](const Status& status) {
                     state->OnControlSent(to, awaited, status);
                   });
  }
  void SendTombstone(int to, Tag tag, int attempts) WEFT_EXCLUDES(mutex) {
    transport.Send(to, tag, {}, [to, tag, attempts, state = shared_from_this()](const Status& status) {
      const bool again = status.code() == StatusCode::kUnavailable && attempts > 1 && !state->IsGone(to);
      if (again) state->SendTombstone(to, tag, attempts - 1);
      const MutexLock lock(state->mutex);
      if (!again) --state->control_under_way;
      state->changed.NotifyAll();
    });
  }
  void SendToAll(const ControlMessage& message) WEFT_EXCLUDES(mutex) {
    for (int rank = 0; rank < options.ranks; ++rank) {
      if (rank != self && !IsGone(rank)) SendControl(rank, message);
    }
  }
  bool Unanswered() WEFT_REQUIRES(mutex) {
    for (int rank = 0; rank < options.ranks; ++rank) {
      if (rank != self && !answers[Index(rank)].come) return true;
    }
    return false;
  }
  bool IsGone(int rank) WEFT_EXCLUDES(mutex) {
    const MutexLock lock(mutex);
    return gone[Index(rank)];
  }

  void OnControl(int from, const Status& status, const ControlBuffer& buffer) WEFT_EXCLUDES(mutex);
  void OnControlSent(int to, bool awaited, const Status& status) WEFT_EXCLUDES(mutex);
  void OnLost(int rank, const Status& status) WEFT_EXCLUDES(mutex);
  void OnFailureTold(int from, const ControlMessage& message) WEFT_EXCLUDES(mutex);
  // The first error counts; all others are told of it.
  Status Fail(const Status& status, int rank_at_fault) WEFT_EXCLUDES(mutex);

  const Options options;
  Transport& transport;
  Clock& clock;
  const int self;

  Mutex mutex;
  CondVar changed;
  Status error WEFT_GUARDED_BY(mutex);
  std::vector<bool> gone WEFT_GUARDED_BY(mutex);          // by rank, as the next three
  std::vector<bool> said_goodbye WEFT_GUARDED_BY(mutex);  // nothing is received from it any more
  std::vector<std::int64_t> barriers WEFT_GUARDED_BY(mutex);
  std::vector<Answer> answers WEFT_GUARDED_BY(mutex);
  bool waiting WEFT_GUARDED_BY(mutex) = false;   // the trainer's thread, here
  std::int64_t sums WEFT_GUARDED_BY(mutex) = 0;  // begun here
  std::int64_t control_under_way WEFT_GUARDED_BY(mutex) = 0;
  std::int64_t sent WEFT_GUARDED_BY(mutex) = 0;
  std::int64_t received WEFT_GUARDED_BY(mutex) = 0;
  bool finished WEFT_GUARDED_BY(mutex) = false;
};

void PeerExchange::State::OnControl(int from, const Status& status, const ControlBuffer& buffer) {
  if (!status.ok()) {
    OnLost(from, status);
    return;
  }
  const Result<ControlMessage> decoded = DecodeControl(buffer);
  if (!decoded.ok()) {
    (void)Fail(decoded.status().WithContext(RankName(from)), from);
    return;
  }
  const ControlMessage& message = *decoded;
  if (message.generation > options.generation) {
    (void)Fail(FailedPreconditionError("generation " + std::to_string(options.generation) +
                                       " is over: " + RankName(from) + " is at " + std::to_string(message.generation)),
               self);
    return;
  }
  if (message.generation == options.generation) {  // an older one is left over from before the ranks were formed anew
    ControlMessage answer{.kind = ControlKind::kAnswer};
    {
      const MutexLock lock(mutex);
      if (message.kind == ControlKind::kBarrier) barriers[Index(from)] = message.round;
      if (message.kind == ControlKind::kAnswer) {
        answers[Index(from)] = {.come = true, .waiting = message.last, .sums = message.round};
      }
      if (message.kind == ControlKind::kGoodbye) said_goodbye[Index(from)] = true;
      answer.round = sums;
      answer.last = waiting;
      changed.NotifyAll();
    }
    if (message.kind == ControlKind::kGoodbye) return;
    if (message.kind == ControlKind::kQuery) SendControl(from, answer);
    if (message.kind == ControlKind::kFailure) OnFailureTold(from, message);
  }
  ReceiveControl(from);
}

void PeerExchange::State::OnFailureTold(int from, const ControlMessage& message) {
  const std::string what = message.code == StatusCode::kUnavailable        ? " is gone"
                           : message.code == StatusCode::kDeadlineExceeded ? " did not keep up"
                           : message.code == StatusCode::kCancelled        ? " was stopped"
                                                                           : " broke the protocol";
  const MutexLock lock(mutex);
  if (error.ok()) error = Status(message.code, RankName(message.rank) + what + ", says " + RankName(from));
  changed.NotifyAll();
}

void PeerExchange::State::OnControlSent(int to, bool awaited, const Status& status) {
  if (awaited) {
    const MutexLock lock(mutex);
    --control_under_way;
    changed.NotifyAll();
  }
  if (!status.ok()) OnLost(to, status);
}

void PeerExchange::State::OnLost(int rank, const Status& status) {
  {
    const MutexLock lock(mutex);
    if (finished) return;
    gone[Index(rank)] = gone[Index(rank)] || status.code() == StatusCode::kUnavailable;
    changed.NotifyAll();
    if (options.survive_deaths && status.code() == StatusCode::kUnavailable) return;
  }
  (void)Fail(status.WithContext(RankName(rank)), rank);
}

Status PeerExchange::State::Fail(const Status& status, int rank_at_fault) {
  {
    const MutexLock lock(mutex);
    if (!error.ok()) return error;
    error = status;
    changed.NotifyAll();
  }
  const ControlMessage message{.kind = ControlKind::kFailure, .code = status.code(), .rank = rank_at_fault};
  for (int rank = 0; rank < options.ranks; ++rank) {
    // The one at fault may never take it.
    if (rank != self && !IsGone(rank)) SendControl(rank, message, /*awaited=*/rank != rank_at_fault);
  }
  return status;
}

PeerExchange::PeerExchange(const Options& options, Transport& transport, Clock& clock)
    : state_(std::make_shared<State>(options, transport, clock)), clock_(clock) {
  for (int rank = 0; rank < options.ranks; ++rank) {
    if (rank != state_->self) state_->ReceiveControl(rank);
  }
}

PeerExchange::~PeerExchange() {
  {
    const MutexLock lock(state_->mutex);
    if (state_->finished) return;
  }
  const Status cause = Fail(CancelledError(RankName(state_->self) + " was ended"), state_->self);
  {
    // So that the others need not find out by their own time-outs. What is under way otherwise may hang for ever.
    const MutexLock lock(state_->mutex);
    const TimePoint deadline = clock_.Now() + std::min(kFarewell, state_->options.peer_timeout);
    while (state_->control_under_way > 0 && clock_.Now() < deadline) state_->changed.WaitUntil(state_->mutex, deadline);
  }
  state_->transport.Abort(cause);
}

PeerExchange::Handle PeerExchange::Begin(int peer, std::string what, std::size_t bytes_out, std::size_t bytes_in,
                                         Memory memory) {
  auto handle = std::make_shared<Transfer>();
  handle->peer = peer;
  handle->what = std::move(what);
  handle->memory = std::move(memory);
  handle->bytes_out = static_cast<std::int64_t>(bytes_out);
  handle->bytes_in = static_cast<std::int64_t>(bytes_in);
  handle->start = clock_.Now();
  handle->state = state_;
  return handle;
}

Completion PeerExchange::EndOf(const Handle& handle, std::function<void(const Status&)> then) {
  return [handle, then = std::move(then), &clock = clock_](const Status& status) {
    State& state = *handle->state;
    {
      const MutexLock lock(state.mutex);
      handle->ended = true;
      handle->status = status;
      handle->end = clock.Now();
      if (status.ok()) state.sent += handle->bytes_out;
      if (status.ok()) state.received += handle->bytes_in;
      state.changed.NotifyAll();
    }
    if (then) then(status);
  };
}

PeerExchange::Handle PeerExchange::Send(int to, Tag tag, std::span<const float> data, std::string what, Memory memory,
                                        std::function<void(const Status&)> then) {
  Handle handle = Begin(to, std::move(what), data.size_bytes(), 0, std::move(memory));
  state_->transport.Send(to, tag, std::as_bytes(data), EndOf(handle, std::move(then)));
  return handle;
}

PeerExchange::Handle PeerExchange::Receive(int from, Tag tag, std::span<float> data, std::string what, Memory memory,
                                           std::function<void(const Status&)> then) {
  Handle handle = Begin(from, std::move(what), 0, data.size_bytes(), std::move(memory));
  state_->transport.Receive(from, tag, std::as_writable_bytes(data), EndOf(handle, std::move(then)));
  return handle;
}

PeerExchange::Handle PeerExchange::AllReduce(std::span<float> data, std::string what, Memory memory) {
  const int ranks = state_->options.ranks, before = (state_->self + ranks - 1) % ranks;
  const AllReduceTraffic out = AllReduceTrafficOf(data.size(), ranks, state_->self);
  const AllReduceTraffic in = AllReduceTrafficOf(data.size(), ranks, before);
  Handle handle = Begin(-1, std::move(what), static_cast<std::size_t>(out.bytes), static_cast<std::size_t>(in.bytes),
                        std::move(memory));
  {
    const MutexLock lock(state_->mutex);
    handle->sum_number = ++state_->sums;
  }
  state_->transport.AllReduce(data, state_->options.ranks, EndOf(handle, nullptr));
  return handle;
}

void PeerExchange::SendTombstone(int to, Tag tag) {
  {
    const MutexLock lock(state_->mutex);
    ++state_->control_under_way;
  }
  state_->SendTombstone(to, tag, kTombstoneAttempts);
}

Result<PeerExchange::Ended> PeerExchange::Await(const Handle& handle) {
  {
    const MutexLock lock(state_->mutex);
    const TimePoint begun = clock_.Now();
    const TimePoint deadline = begun + state_->options.peer_timeout;
    state_->waiting = true;
    while (!handle->ended && state_->error.ok() && clock_.Now() < deadline) {
      state_->changed.WaitUntil(state_->mutex, deadline);
    }
    state_->waiting = !handle->ended && state_->error.ok();
    if (!state_->error.ok()) return state_->error;
    if (handle->ended) {
      return Ended{.status = handle->status,
                   .waited = clock_.Now() - begun,
                   .start = handle->start,
                   .end = handle->end,
                   .bytes_out = handle->bytes_out,
                   .bytes_in = handle->bytes_in};
    }
  }
  return handle->peer < 0 ? LateSum(handle) : Late(handle);
}

Result<PeerExchange::Ended> PeerExchange::Wait(const Handle& handle) {
  WEFT_ASSIGN_OR_RETURN(Ended ended, Await(handle));
  if (ended.status.ok()) return ended;
  const std::string place = handle->peer < 0 ? handle->what : RankName(handle->peer) + ", " + handle->what;
  return Fail(ended.status.WithContext(place), handle->peer);
}

Duration PeerExchange::Grace() const { return std::min(kFarewell, state_->options.peer_timeout / 4); }

std::string PeerExchange::LimitText() const {
  std::string text = std::to_string(ToSeconds(state_->options.peer_timeout));
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return " within " + text + " s";
}

// The peer may wait for somebody itself, who is then to blame, as it will tell.
Status PeerExchange::Late(const Handle& handle) {
  state_->SendControl(handle->peer, {.kind = ControlKind::kQuery}, /*awaited=*/false);
  {
    const MutexLock lock(state_->mutex);
    const State::Answer& answer = state_->answers[Index(handle->peer)];
    TimePoint deadline = clock_.Now() + Grace();
    while (!answer.come && state_->error.ok() && clock_.Now() < deadline) {
      state_->changed.WaitUntil(state_->mutex, deadline);
    }
    deadline = clock_.Now() + 2 * Grace();
    while (answer.waiting && state_->error.ok() && clock_.Now() < deadline) {
      state_->changed.WaitUntil(state_->mutex, deadline);
    }
  }
  return Fail(
      DeadlineExceededError(RankName(handle->peer) + (handle->bytes_out > 0 ? " did not take " : " did not send ") +
                            handle->what + LimitText()),
      handle->peer);
}

// A sum does not say who is missing, so everybody is asked how many it has begun.
Status PeerExchange::LateSum(const Handle& handle) {
  state_->SendToAll({.kind = ControlKind::kQuery});
  std::string missing;
  int first = -1;
  {
    const MutexLock lock(state_->mutex);
    const TimePoint deadline = clock_.Now() + Grace();
    while (state_->Unanswered() && state_->error.ok() && clock_.Now() < deadline) {
      state_->changed.WaitUntil(state_->mutex, deadline);
    }
    if (!state_->error.ok()) return state_->error;
    for (int rank = 0; rank < state_->options.ranks; ++rank) {
      const State::Answer& answer = state_->answers[Index(rank)];
      if (rank == state_->self || (answer.come && answer.sums >= handle->sum_number)) continue;
      missing += (missing.empty() ? "" : ", ") + RankName(rank);
      if (first < 0) first = rank;
    }
  }
  if (missing.empty()) {
    return Fail(DeadlineExceededError(handle->what + " did not end" + LimitText() + ", though all ranks take part"),
                -1);
  }
  return Fail(DeadlineExceededError(missing + " did not join " + handle->what + LimitText()), first);
}

Status PeerExchange::MeetAll(ControlKind kind, std::int64_t number, const std::string& what) {
  WEFT_RETURN_IF_ERROR(status());
  state_->SendToAll({.kind = kind, .round = number});
  int missing = -1;
  {
    const MutexLock lock(state_->mutex);
    const TimePoint deadline = clock_.Now() + state_->options.peer_timeout;
    while (state_->error.ok()) {
      missing = -1;
      for (int rank = 0; rank < state_->options.ranks; ++rank) {
        const std::size_t r = Index(rank);
        const bool met = kind == ControlKind::kGoodbye ? state_->said_goodbye[r] : state_->barriers[r] >= number;
        if (rank != state_->self && !state_->gone[r] && !met) missing = rank;
      }
      if (missing < 0 && state_->control_under_way == 0) return OkStatus();
      if (clock_.Now() >= deadline) break;
      state_->changed.WaitUntil(state_->mutex, deadline);
    }
    if (!state_->error.ok()) return state_->error;
  }
  return Fail(
      DeadlineExceededError((missing < 0 ? "a rank" : RankName(missing)) + " did not come to " + what + LimitText()),
      missing);
}

Status PeerExchange::Barrier() {
  ++barriers_;
  return MeetAll(ControlKind::kBarrier, barriers_, "barrier " + std::to_string(barriers_));
}

Status PeerExchange::Goodbye() {
  WEFT_RETURN_IF_ERROR(MeetAll(ControlKind::kGoodbye, 0, "the end"));
  const MutexLock lock(state_->mutex);
  state_->finished = true;
  return OkStatus();
}

Status PeerExchange::status() const {
  const MutexLock lock(state_->mutex);
  return state_->error;
}

bool PeerExchange::gone(int rank) const { return state_->IsGone(rank); }

Status PeerExchange::Fail(const Status& status, int rank_at_fault) { return state_->Fail(status, rank_at_fault); }

std::pair<std::int64_t, std::int64_t> PeerExchange::TakeBytes() {
  const MutexLock lock(state_->mutex);
  return {std::exchange(state_->sent, 0), std::exchange(state_->received, 0)};
}

}  // namespace weft
