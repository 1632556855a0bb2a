#include "agent/dataplane/server_loop.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace weft {
namespace {

constexpr Duration kLongestSleep = std::chrono::seconds(1);
// For telling the workers why the server ends; they find out by their own time-outs otherwise.
constexpr Duration kFarewell = std::chrono::seconds(1);

std::span<const float> Part(std::span<const float> all, const Shard& shard) {
  return all.subspan(static_cast<std::size_t>(shard.first), static_cast<std::size_t>(shard.count));
}

std::string Seconds(Duration duration) {
  std::string text = std::to_string(ToSeconds(duration));
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " s";
}

}  // namespace

ServerLoop::ServerLoop(const ParameterServerOptions& options, const Plan& plan, std::span<const float> initial_weights,
                       Transport& transport, Clock& clock)
    : options_(options),
      plan_(plan),
      server_(transport.rank() - plan.workers),
      interleaved_(plan.strategy == StrategyType::kInterleavedPS),
      admission_(interleaved_ && options.admission),
      transport_(transport),
      clock_(clock),
      events_(std::make_shared<EventQueue<Event>>()),
      control_buffers_(static_cast<std::size_t>(plan.workers)),
      goodbye_(static_cast<std::size_t>(plan.workers), false),
      phases_(plan.workers, FromMicroseconds(plan.compute_us)) {
  const ShardRounds::Rule rule{
      .workers = plan.workers, .elastic = interleaved_, .center_rate = static_cast<float>(options.center_rate)};
  for (std::size_t channel = 0; channel < plan.shards.size(); ++channel) {
    const Shard& shard = plan.shards[channel];
    if (shard.server != server_) continue;
    const std::span<const float> initial = Part(initial_weights, shard);
    shard_of_channel_[static_cast<int>(channel)] = shards_.size();
    shards_.push_back({.place = shard,
                       .channel = static_cast<int>(channel),
                       .chunks = Chunks::Of(plan.strategy, shard.count),
                       .rounds = ShardRounds(rule, {initial.begin(), initial.end()}, 0),
                       .last = false,
                       .begun = std::nullopt,
                       .waiting = {},
                       .replies = {},
                       .next_evaluation = 0});
    centres_.push_back(shards_.back().rounds.committed());
    committed_.push_back(0);
  }
}

ServerLoop::~ServerLoop() {
  if (outstanding_ > 0) transport_.Abort(CancelledError("the parameter server was ended"));
}

Status ServerLoop::RestoreCentre(std::int64_t iteration, std::span<const float> weights) {
  std::int64_t parameter_count = 0;
  for (const Shard& shard : plan_.shards) parameter_count += shard.count;
  if (static_cast<std::int64_t>(weights.size()) != parameter_count) {
    return InvalidArgumentError("the centre to restore has " + std::to_string(weights.size()) + " floats, the model " +
                                std::to_string(parameter_count));
  }
  const ShardRounds::Rule rule{
      .workers = plan_.workers, .elastic = interleaved_, .center_rate = static_cast<float>(options_.center_rate)};
  restored_iteration_ = iteration;
  MutexLock lock(mutex_);
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    ShardState& shard = shards_[i];
    const std::span<const float> values = Part(weights, shard.place);
    const std::int64_t rounds = RoundsThrough(plan_.phase, plan_.period, shard.place.group, iteration);
    shard.rounds = ShardRounds(rule, {values.begin(), values.end()}, rounds);
    centres_[i] = shard.rounds.committed();
    committed_[i] = rounds;
  }
  return OkStatus();
}

void ServerLoop::SetEvaluations(std::int64_t period, std::function<void(const CentreSnapshot&)> callback,
                                std::int64_t last_iteration) {
  WEFT_CHECK(period >= 1) << "period " << period;
  evaluation_period_ = period;
  last_evaluation_ = last_iteration;
  on_evaluation_ = std::move(callback);
}

Result<bool> ServerLoop::Run() {
  if (plan_.workers == 1) return true;
  if (evaluation_period_ > 0) {
    const std::int64_t first = (restored_iteration_ / evaluation_period_ + 1) * evaluation_period_;
    for (ShardState& shard : shards_) shard.next_evaluation = first;
    for (std::size_t i = 0; i < shards_.size(); ++i) CaptureEvaluations(i);
  }
  for (int worker = 0; worker < plan_.workers; ++worker) ReceiveControl(worker);
  while (failure_.ok()) {
    const bool all_gone = std::all_of(goodbye_.begin(), goodbye_.end(), [](bool gone) { return gone; });
    if (all_gone && outstanding_ == 0) return *for_good_;
    const TimePoint now = clock_.Now();
    if (std::optional<Event> event = events_->PopUntil(NextWake(now))) Handle(std::move(*event));
    const TimePoint then = clock_.Now();
    if (failure_.ok()) GrantReady(then);
    if (failure_.ok() && then >= next_timeout_check_) CheckTimeouts(then);
  }
  return TellWorkersAndAbort();
}

void ServerLoop::Stop(const Status& cause) {
  WEFT_CHECK(!cause.ok());
  events_->Push(StopAsked{cause});
}

CentreSnapshot ServerLoop::Centre() const {
  CentreSnapshot snapshot;
  for (const ShardState& shard : shards_) snapshot.shards.push_back(shard.place);
  MutexLock lock(mutex_);
  snapshot.iteration = last_iteration_;
  snapshot.values = centres_;
  return snapshot;
}

Result<CentreSnapshot> ServerLoop::CentreAt(std::int64_t iteration) const {
  const TimePoint deadline = clock_.Now() + options_.peer_timeout;
  CentreSnapshot snapshot{.iteration = iteration, .shards = {}, .values = {}};
  for (const ShardState& shard : shards_) snapshot.shards.push_back(shard.place);
  MutexLock lock(mutex_);
  for (std::size_t i = 0; i < snapshot.shards.size(); ++i) {
    const std::int64_t rounds = RoundsThrough(plan_.phase, plan_.period, snapshot.shards[i].group, iteration);
    while (committed_[i] < rounds) {
      if (!ended_.ok()) return ended_;
      if (!changed_.WaitUntil(mutex_, deadline) && committed_[i] < rounds) {
        return DeadlineExceededError("server " + std::to_string(server_) + ": group " +
                                     std::to_string(snapshot.shards[i].group) + " has not committed the rounds of " +
                                     "iteration " + std::to_string(iteration) + " within " +
                                     Seconds(options_.peer_timeout));
      }
    }
  }
  snapshot.values = centres_;
  return snapshot;
}

ServerStatistics ServerLoop::Statistics() const {
  const auto use = [](const DirectionMeter& meter) {
    return LinkUse{.busy_seconds = ToSeconds(meter.busy()),
                   .concurrent_seconds = ToSeconds(meter.concurrent()),
                   .peak_bytes_per_second = meter.peak_bytes_per_second(),
                   .active = meter.active(),
                   .bytes = meter.bytes(),
                   .transfers = meter.transfers()};
  };
  MutexLock lock(mutex_);
  const TimePoint now = clock_.Now();
  received_.AdvanceTo(now);
  sent_.AdvanceTo(now);
  ServerStatistics statistics = counters_;
  statistics.received = use(received_);
  statistics.sent = use(sent_);
  return statistics;
}

std::string ServerLoop::WorkerName(int worker) const {
  return "worker " + std::to_string(worker) + " (rank " + std::to_string(worker) + ")";
}

std::string ServerLoop::PeerName(int rank) const {
  if (rank < plan_.workers) return WorkerName(rank);
  return "server " + std::to_string(rank - plan_.workers) + " (rank " + std::to_string(rank) + ")";
}

std::string ServerLoop::RoundName(const Transfer& transfer) const {
  return "group " + std::to_string(shards_[transfer.shard].place.group) + " round " + std::to_string(transfer.round);
}

TimePoint ServerLoop::NextWake(TimePoint now) const {
  TimePoint wake = std::min(now + kLongestSleep, std::max(next_timeout_check_, now));
  if (admission_ && !ready_.empty()) {
    if (const auto next = scheduler_.NextGrant()) wake = std::min(wake, *next);
  }
  return wake;
}

void ServerLoop::ReceiveControl(int worker) {
  ++outstanding_;
  transport_.Receive(worker, Tag(MessageKind::kControl, 0, 0), control_buffers_[static_cast<std::size_t>(worker)],
                     [worker, events = events_, &clock = clock_](const Status& status) {
                       events->Push(ControlArrived{worker, status, clock.Now()});
                     });
}

void ServerLoop::SendControl(int worker, ControlMessage message) {
  if (message.generation == 0) message.generation = options_.generation;
  const auto bytes = std::make_shared<ControlBuffer>(EncodeControl(message));
  const bool farewell = !failure_.ok();
  ++outstanding_;
  transport_.Send(worker, Tag(MessageKind::kControl, 0, 0), *bytes,
                  [worker, farewell, bytes, events = events_](const Status& status) {
                    events->Push(ControlSent{worker, farewell, status});
                  });
}

void ServerLoop::Handle(Event event) {
  if (const auto* control = std::get_if<ControlArrived>(&event)) {
    --outstanding_;
    OnControl(*control);
  } else if (const auto* moved = std::get_if<Moved>(&event)) {
    --outstanding_;
    OnMoved(*moved);
  } else if (const auto* sent = std::get_if<ControlSent>(&event)) {
    --outstanding_;
    if (!sent->status.ok()) Fail(sent->status.WithContext(WorkerName(sent->worker)), sent->worker);
  } else {
    Fail(std::get<StopAsked>(event).cause, transport_.rank());
  }
}

void ServerLoop::OnControl(const ControlArrived& event) {
  const int worker = event.worker;
  if (!event.status.ok()) {
    Fail(event.status.WithContext(WorkerName(worker)), worker);
    return;
  }
  const Result<ControlMessage> decoded = DecodeControl(control_buffers_[static_cast<std::size_t>(worker)]);
  if (!decoded.ok()) {
    Fail(decoded.status().WithContext(WorkerName(worker)), worker);
    return;
  }
  const ControlMessage& message = *decoded;
  if (message.generation != options_.generation) {
    {
      MutexLock lock(mutex_);
      ++counters_.refused_messages;
    }
    // In the sender's generation, so that a worker of this one, to whom it may be delivered, drops it.
    SendControl(worker, {.kind = ControlKind::kFailure,
                         .code = StatusCode::kFailedPrecondition,
                         .generation = message.generation,
                         .rank = worker});
    ReceiveControl(worker);
    return;
  }
  if (message.kind == ControlKind::kFailure) {
    std::string cause = WorkerName(worker) + " ended with " + StatusCodeName(message.code);
    if (message.rank != worker) cause += " because of " + PeerName(message.rank);
    Fail(Status(message.code, std::move(cause)), message.rank);
    return;
  }
  if (message.kind == ControlKind::kGoodbye) {
    if (for_good_.value_or(message.last) != message.last) {
      Fail(FailedPreconditionError(WorkerName(worker) +
                                   " changes to another plan while others end the run, or the reverse"),
           worker);
      return;
    }
    for_good_ = message.last;
    goodbye_[static_cast<std::size_t>(worker)] = true;
    SendControl(worker, {.kind = ControlKind::kGoodbye});
    return;
  }
  ReceiveControl(worker);
  OnRequest(worker, message, event.time);
}

void ServerLoop::OnRequest(int worker, const ControlMessage& message, TimePoint now) {
  const auto found = shard_of_channel_.find(message.shard);
  if (message.kind != ControlKind::kRequest || found == shard_of_channel_.end()) {
    Fail(FailedPreconditionError(WorkerName(worker) + " sent kind " + std::to_string(static_cast<int>(message.kind)) +
                                 " for shard " + std::to_string(message.shard) + ", which is not of server " +
                                 std::to_string(server_)),
         worker);
    return;
  }
  if (message.last) {
    MutexLock lock(mutex_);
    last_iteration_ = std::max(last_iteration_, message.iteration);
  }
  ShardState& shard = shards_[found->second];
  const std::int64_t building = shard.rounds.rounds();
  const bool waits = message.round > building;
  // A worker that applies late at T = 1 begins a round while the one before waits for the one before that.
  const std::int64_t most_ahead = options_.apply == Apply::kLate ? 2 : 1;
  if (message.round < building || message.round > building + most_ahead || (!waits && shard.rounds.HasPush(worker))) {
    Fail(FailedPreconditionError(WorkerName(worker) + " asks for round " + std::to_string(message.round) +
                                 " of group " + std::to_string(shard.place.group) + ", whose round " +
                                 std::to_string(building) + " is being built"),
         worker);
    return;
  }
  if (!message.last) phases_.Report(worker, message.iteration, now - message.time);
  const std::int64_t id = next_transfer_++;
  Transfer& transfer = transfers_[id];
  transfer.worker = worker;
  transfer.shard = found->second;
  transfer.round = message.round;
  transfer.samples = message.samples;
  transfer.last = message.last;
  transfer.arrived = now;
  if (waits) {
    shard.waiting.push_back(id);
  } else {
    if (!shard.begun) shard.begun = now;
    ready_.push_back(id);
  }
}

void ServerLoop::GrantReady(TimePoint now) {
  while (!ready_.empty()) {
    if (admission_) {
      const auto next = scheduler_.NextGrant();
      if (!next || *next > now) return;
    }
    const std::int64_t id = ready_.front();
    ready_.pop_front();
    Grant(id, now);
  }
}

void ServerLoop::Grant(std::int64_t id, TimePoint now) {
  Transfer& transfer = transfers_.at(id);
  ShardState& shard = shards_[transfer.shard];
  shard.last = shard.last || transfer.last;
  transfer.progress = transfer.pull_progress = now;
  const std::int64_t bytes = shard.place.count * static_cast<std::int64_t>(sizeof(float));
  // A worker that was not told to push yet does so when the grant is there.
  transfer.push_progress = admission_ ? now + scheduler_.round_trip() : now;
  if (admission_) scheduler_.Granted(id, bytes, now);
  {
    MutexLock lock(mutex_);
    received_.Begin(transfer.push_progress);
    if (transfer.staleness_wait > Duration::zero()) {
      ++counters_.staleness_waits;
      counters_.staleness_wait_seconds += ToSeconds(transfer.staleness_wait);
    }
  }
  const std::span<float> buffer = shard.rounds.BeginPush(transfer.worker, transfer.samples);
  for (int chunk = 0; chunk < shard.chunks.count(); ++chunk) {
    const std::span<float> part = buffer.subspan(static_cast<std::size_t>(shard.chunks.first(chunk)),
                                                 static_cast<std::size_t>(shard.chunks.size(chunk)));
    ++outstanding_;
    transport_.Receive(transfer.worker, Tag(MessageKind::kPush, shard.channel, transfer.round),
                       std::as_writable_bytes(part), [id, events = events_, &clock = clock_](const Status& status) {
                         events->Push(Moved{id, true, status, clock.Now()});
                       });
  }
  if (!interleaved_) {
    shard.replies.push_back(id);
    return;
  }
  SendControl(transfer.worker, {.kind = ControlKind::kGrant,
                                .shard = shard.channel,
                                .round = transfer.round,
                                .time = phases_.Correction(transfer.worker),
                                .staleness_wait = transfer.staleness_wait});
  transfer.pull = shard.rounds.committed();
  pulls_.push_back(id);
  BeginNextPull(now);
}

// The server's own sends need no grant to follow each other without overlap.
void ServerLoop::BeginNextPull(TimePoint now) {
  while (!pulls_.empty() && !(admission_ && pull_under_way_)) {
    const std::int64_t id = pulls_.front();
    pulls_.pop_front();
    BeginPull(id, now);
  }
}

void ServerLoop::BeginPull(std::int64_t id, TimePoint now) {
  Transfer& transfer = transfers_.at(id);
  const ShardState& shard = shards_[transfer.shard];
  transfer.pull_begun = true;
  transfer.progress = transfer.pull_progress = now;
  pull_under_way_ = true;
  {
    MutexLock lock(mutex_);
    sent_.Begin(now);
  }
  const std::span<const float> values = *transfer.pull;
  for (int chunk = 0; chunk < shard.chunks.count(); ++chunk) {
    const std::span<const float> part = values.subspan(static_cast<std::size_t>(shard.chunks.first(chunk)),
                                                       static_cast<std::size_t>(shard.chunks.size(chunk)));
    ++outstanding_;
    transport_.Send(transfer.worker, Tag(MessageKind::kPull, shard.channel, transfer.round), std::as_bytes(part),
                    [id, events = events_, &clock = clock_](const Status& status) {
                      events->Push(Moved{id, false, status, clock.Now()});
                    });
  }
}

void ServerLoop::OnMoved(const Moved& event) {
  Transfer& transfer = transfers_.at(event.transfer);
  ShardState& shard = shards_[transfer.shard];
  if (!event.status.ok()) {
    Fail(event.status.WithContext(WorkerName(transfer.worker) + (event.push ? ", push of " : ", pull of ") +
                                  RoundName(transfer)),
         transfer.worker);
    return;
  }
  transfer.progress = event.time;
  const int chunk = event.push ? transfer.pushed_chunks++ : transfer.pulled_chunks++;
  const std::int64_t bytes = shard.chunks.size(chunk) * static_cast<std::int64_t>(sizeof(float));
  const bool all = chunk + 1 == shard.chunks.count();
  {
    MutexLock lock(mutex_);
    DirectionMeter& meter = event.push ? received_ : sent_;
    TimePoint& progress = event.push ? transfer.push_progress : transfer.pull_progress;
    meter.AddBytes(std::min(progress, event.time), event.time, bytes);
    if (all) meter.End(std::max(progress, event.time));
    progress = event.time;
    // A begin may lie a round trip ahead, an end that is told late a little behind.
    meter.AdvanceTo(event.time);
  }
  if (admission_) {
    const int done = std::min(transfer.pushed_chunks, transfer.pulled_chunks);
    const std::int64_t done_floats = std::min(done * shard.chunks.floats, shard.chunks.total);
    scheduler_.Progressed(event.transfer, done_floats * static_cast<std::int64_t>(sizeof(float)), event.time);
  }
  if (!event.push && all) {
    transfer.pull = nullptr;
    pull_under_way_ = false;
    BeginNextPull(event.time);
  }
  const std::size_t index = transfer.shard;
  const int worker = transfer.worker;
  const std::int64_t pushed = std::min(transfer.pushed_chunks * shard.chunks.floats, shard.chunks.total);
  if (transfer.pushed_chunks == shard.chunks.count() && transfer.pulled_chunks == shard.chunks.count()) {
    transfers_.erase(event.transfer);
  }
  if (event.push && shard.rounds.Received(worker, pushed)) CommitRound(index, event.time);
}

void ServerLoop::CommitRound(std::size_t index, TimePoint now) {
  ShardState& shard = shards_[index];
  const std::int64_t round = shard.rounds.rounds();
  const std::int64_t samples = shard.rounds.Commit();
  {
    MutexLock lock(mutex_);
    centres_[index] = shard.rounds.committed();
    committed_[index] = shard.rounds.rounds();
    changed_.NotifyAll();
  }
  for (const std::int64_t id : std::exchange(shard.replies, {})) {
    Transfer& transfer = transfers_.at(id);
    SendControl(transfer.worker,
                {.kind = ControlKind::kGrant, .shard = shard.channel, .round = round, .samples = samples});
    transfer.pull = shard.rounds.committed();
    BeginPull(id, now);
  }
  shard.begun.reset();
  for (const std::int64_t id : std::exchange(shard.waiting, {})) {
    Transfer& transfer = transfers_.at(id);
    if (transfer.round > shard.rounds.rounds()) {
      shard.waiting.push_back(id);
      continue;
    }
    transfer.staleness_wait = now - transfer.arrived;
    if (!shard.begun) shard.begun = now;
    ready_.push_back(id);
  }
  if (!shard.last) CaptureEvaluations(index);
}

// The shard's committed values are those at the end of each iteration that adds no round to them.
void ServerLoop::CaptureEvaluations(std::size_t index) {
  if (evaluation_period_ == 0) return;
  ShardState& shard = shards_[index];
  while (shard.next_evaluation <= last_evaluation_ &&
         RoundsThrough(plan_.phase, plan_.period, shard.place.group, shard.next_evaluation) == shard.rounds.rounds()) {
    const std::int64_t iteration = shard.next_evaluation;
    shard.next_evaluation += evaluation_period_;
    auto& captured = evaluations_[iteration];
    captured[index] = shard.rounds.committed();
    if (captured.size() < shards_.size()) continue;
    CentreSnapshot snapshot{.iteration = iteration, .shards = {}, .values = {}};
    for (const auto& [i, values] : captured) {
      snapshot.shards.push_back(shards_[i].place);
      snapshot.values.push_back(values);
    }
    evaluations_.erase(iteration);
    on_evaluation_(snapshot);
  }
}

void ServerLoop::CheckTimeouts(TimePoint now) {
  const std::string limit = " within " + Seconds(options_.peer_timeout);
  next_timeout_check_ = now + std::min(kLongestSleep, options_.peer_timeout / 32);
  const TimePoint oldest = now - options_.peer_timeout;
  for (const auto& [id, transfer] : transfers_) {
    const ShardState& shard = shards_[transfer.shard];
    if (transfer.progress == TimePoint{} || transfer.progress > oldest) continue;
    if (transfer.pushed_chunks < shard.chunks.count()) {
      Fail(DeadlineExceededError(WorkerName(transfer.worker) + " did not send its push of " + RoundName(transfer) +
                                 limit),
           transfer.worker);
      return;
    }
    if (transfer.pull_begun && transfer.pulled_chunks < shard.chunks.count()) {
      Fail(DeadlineExceededError(WorkerName(transfer.worker) + " did not take the pull of " + RoundName(transfer) +
                                 limit),
           transfer.worker);
      return;
    }
  }
  // A round that somebody waits for: synchronous workers wait for every round, interleaved ones for the one before.
  for (const ShardState& shard : shards_) {
    const bool awaited = interleaved_ ? !shard.waiting.empty() && transfers_.at(shard.waiting.front()).arrived < oldest
                                      : shard.begun && *shard.begun < oldest;
    if (!awaited) continue;
    for (int worker = 0; worker < plan_.workers; ++worker) {
      if (shard.rounds.HasPush(worker)) continue;
      const bool asked = std::any_of(ready_.begin(), ready_.end(), [&](std::int64_t id) {
        return transfers_.at(id).worker == worker && transfers_.at(id).shard == shard_of_channel_.at(shard.channel);
      });
      if (asked) continue;
      Fail(
          DeadlineExceededError(WorkerName(worker) + " did not come for group " + std::to_string(shard.place.group) +
                                " round " + std::to_string(shard.rounds.rounds()) + ", which others wait for," + limit),
          worker);
      return;
    }
  }
}

void ServerLoop::Fail(const Status& status, int rank_at_fault) {
  if (!failure_.ok()) return;
  failure_ = status;
  rank_at_fault_ = rank_at_fault;
}

Status ServerLoop::TellWorkersAndAbort() {
  std::int64_t untold = 0;
  for (int worker = 0; worker < plan_.workers; ++worker) {
    if (goodbye_[static_cast<std::size_t>(worker)]) continue;
    SendControl(worker, {.kind = ControlKind::kFailure, .code = failure_.code(), .rank = rank_at_fault_});
    if (worker != rank_at_fault_) ++untold;
  }
  // Only these are waited for: what is under way otherwise may hang for ever.
  const TimePoint deadline = clock_.Now() + std::min(kFarewell, options_.peer_timeout);
  while (untold > 0) {
    const std::optional<Event> event = events_->PopUntil(deadline);
    if (!event) break;
    const auto* sent = std::get_if<ControlSent>(&*event);
    if (sent != nullptr && sent->farewell && sent->worker != rank_at_fault_) --untold;
  }
  transport_.Abort(failure_);
  outstanding_ = 0;
  MutexLock lock(mutex_);
  ended_ = failure_;
  changed_.NotifyAll();
  return failure_;
}

}  // namespace weft
