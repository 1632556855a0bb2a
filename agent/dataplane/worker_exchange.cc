#include "agent/dataplane/worker_exchange.h"

#include <algorithm>

#include "common/check.h"

namespace weft {
namespace {

constexpr Duration kLongestSleep = std::chrono::seconds(1);
constexpr Duration kFarewell = std::chrono::seconds(1);

}  // namespace

WorkerExchange::WorkerExchange(const ParameterServerOptions& options, const Plan& plan, Transport& transport,
                               Clock& clock)
    : options_(options),
      workers_(plan.workers),
      servers_(plan.servers),
      shards_(plan.shards),
      strategy_(plan.strategy),
      wait_for_grant_(plan.strategy == StrategyType::kInterleavedPS && options.admission),
      transport_(transport),
      clock_(clock),
      events_(std::make_shared<EventQueue<Event>>()),
      control_buffers_(static_cast<std::size_t>(plan.servers)),
      corrections_(static_cast<std::size_t>(plan.servers)) {
  thread_ = std::thread([this] { Loop(); });
}

WorkerExchange::~WorkerExchange() {
  bool clean = false;
  {
    MutexLock lock(mutex_);
    clean = said_goodbye_;
  }
  if (!clean)
    events_->Push(
        FailAsked{CancelledError("worker " + std::to_string(transport_.rank()) + " was ended"), transport_.rank()});
  thread_.join();
}

void WorkerExchange::Start(int group, std::int64_t round, const std::vector<ExchangeOrder>& orders) {
  {
    MutexLock lock(mutex_);
    GroupRound& state = rounds_[{group, round}];
    state.shards_left = static_cast<int>(orders.size());
    for (const ExchangeOrder& order : orders) state.stages[order.channel] = Stage::kSlotAhead;
  }
  events_->Push(Started{orders});
}

bool WorkerExchange::Through(int group, std::int64_t round) const {
  MutexLock lock(mutex_);
  const auto it = rounds_.find({group, round});
  return error_.ok() && it != rounds_.end() && it->second.shards_left == 0;
}

Result<WorkerExchange::Outcome> WorkerExchange::Wait(int group, std::int64_t round) {
  return WaitUntilThrough(group, round, true);
}

Status WorkerExchange::Settle(int group, std::int64_t round) { return WaitUntilThrough(group, round, false).status(); }

Result<WorkerExchange::Outcome> WorkerExchange::WaitUntilThrough(int group, std::int64_t round, bool forget) {
  Status late;
  int late_rank = -1;
  {
    MutexLock lock(mutex_);
    GroupRound& state = rounds_.at({group, round});
    Outcome outcome;
    if (state.shards_left > 0 && error_.ok()) {
      const TimePoint begun = clock_.Now();
      events_->Push(WaitedFor{group, round});
      // The server knows which worker is missing, so it speaks first.
      const TimePoint deadline = begun + options_.peer_timeout + options_.peer_timeout / 8;
      while (state.shards_left > 0 && error_.ok() && late.ok()) {
        if (changed_.WaitUntil(mutex_, deadline) || state.shards_left == 0 || !error_.ok()) continue;
        const auto [channel, stage] = *state.stages.begin();
        const int server = shards_[static_cast<std::size_t>(channel)].server;
        late_rank = workers_ + server;
        late = DeadlineExceededError(ServerName(server) +
                                     (stage == Stage::kGranted ? " did not complete the transfer of group "
                                                               : " did not answer a request for group ") +
                                     std::to_string(group) + " round " + std::to_string(round) + LimitText());
      }
      outcome.waited = clock_.Now() - begun;
    }
    if (!error_.ok()) return error_;
    if (late.ok()) {
      outcome.samples = state.samples;
      if (forget) rounds_.erase({group, round});
      return outcome;
    }
    error_ = late;
  }
  events_->Push(FailAsked{late, late_rank});
  return late;
}

Status WorkerExchange::status() const {
  MutexLock lock(mutex_);
  return error_;
}

std::vector<TransferRecord> WorkerExchange::TakeRecords() {
  MutexLock lock(mutex_);
  return std::exchange(records_, {});
}

Status WorkerExchange::Goodbye(bool last) {
  events_->Push(GoodbyeAsked{last});
  Status late;
  {
    MutexLock lock(mutex_);
    const TimePoint deadline = clock_.Now() + options_.peer_timeout;
    while (!said_goodbye_ && error_.ok() && late.ok()) {
      if (!changed_.WaitUntil(mutex_, deadline) && !said_goodbye_ && error_.ok()) {
        late = DeadlineExceededError("not all of " + std::to_string(servers_) + " servers answered the goodbye" +
                                     LimitText());
        error_ = late;
      }
    }
    if (late.ok()) return error_;
  }
  events_->Push(FailAsked{late, transport_.rank()});
  return late;
}

std::string WorkerExchange::ServerName(int server) const {
  return "server " + std::to_string(server) + " (rank " + std::to_string(workers_ + server) + ")";
}

std::string WorkerExchange::PeerName(int rank) const {
  return rank >= workers_ ? ServerName(rank - workers_)
                          : "worker " + std::to_string(rank) + " (rank " + std::to_string(rank) + ")";
}

std::string WorkerExchange::LimitText() const {
  std::string text = std::to_string(ToSeconds(options_.peer_timeout));
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return " within " + text + " s";
}

void WorkerExchange::Loop() {
  for (int server = 0; server < servers_; ++server) ReceiveControl(server);
  while (!done_) {
    TimePoint wake = clock_.Now() + kLongestSleep;
    if (!due_.empty()) wake = std::min(wake, due_.top().first);
    if (std::optional<Event> event = events_->PopUntil(wake)) Handle(std::move(*event));
    if (done_) return;
    SendDueRequests(clock_.Now());
    if (goodbye_asked_ && goodbyes_ == servers_ && outstanding_ == 0) {
      done_ = true;
      MutexLock lock(mutex_);
      said_goodbye_ = true;
      changed_.NotifyAll();
    }
  }
}

void WorkerExchange::Handle(Event event) {
  if (auto* started = std::get_if<Started>(&event)) {
    OnStarted(*started);
  } else if (const auto* waited_for = std::get_if<WaitedFor>(&event)) {
    OnWaitedFor(*waited_for);
  } else if (const auto* control = std::get_if<ControlArrived>(&event)) {
    --outstanding_;
    OnControl(*control);
  } else if (const auto* moved = std::get_if<Moved>(&event)) {
    --outstanding_;
    OnMoved(*moved);
  } else if (const auto* sent = std::get_if<ControlSent>(&event)) {
    --outstanding_;
    if (!sent->status.ok()) Fail(sent->status.WithContext(ServerName(sent->server)), workers_ + sent->server);
  } else if (const auto* goodbye = std::get_if<GoodbyeAsked>(&event)) {
    goodbye_asked_ = true;
    for (int server = 0; server < servers_; ++server) {
      SendControl(server, {.kind = ControlKind::kGoodbye, .last = goodbye->last});
    }
  } else {
    const FailAsked& asked = std::get<FailAsked>(event);
    Fail(asked.cause, asked.rank_at_fault);
  }
}

void WorkerExchange::OnStarted(const Started& event) {
  const TimePoint now = clock_.Now();
  for (const ExchangeOrder& order : event.orders) {
    const Shard& shard = shards_[static_cast<std::size_t>(order.channel)];
    const TimePoint planned =
        order.planned_start ? *order.planned_start + corrections_[static_cast<std::size_t>(shard.server)] : now;
    const Key key{order.channel, order.round};
    Transfer& transfer = transfers_[key];
    transfer = {.order = order,
                .chunks = Chunks::Of(strategy_, shard.count),
                .record = {.group = shard.group,
                           .server = shard.server,
                           .slot = order.slot,
                           .round = order.round,
                           .planned_start = planned,
                           .push_bytes = static_cast<std::int64_t>(order.push.size_bytes()),
                           .pull_bytes = static_cast<std::int64_t>(order.pull.size_bytes())}};
    due_.emplace(planned, key);
  }
}

void WorkerExchange::OnWaitedFor(const WaitedFor& event) {
  const TimePoint now = clock_.Now();
  for (auto& [key, transfer] : transfers_) {
    const bool asked = transfer.stage != Stage::kSlotAhead;
    if (!asked && transfer.record.group == event.group && key.second == event.round) SendRequest(key, transfer, now);
  }
}

void WorkerExchange::SendDueRequests(TimePoint now) {
  while (!due_.empty() && due_.top().first <= now) {
    const Key key = due_.top().second;
    due_.pop();
    const auto it = transfers_.find(key);
    if (it != transfers_.end() && it->second.stage == Stage::kSlotAhead) SendRequest(key, it->second, now);
  }
}

void WorkerExchange::SendRequest(const Key& key, Transfer& transfer, TimePoint now) {
  const ExchangeOrder& order = transfer.order;
  transfer.record.start = transfer.record.granted = now;
  SetStage(transfer, Stage::kRequested);
  SendControl(transfer.record.server, {.kind = ControlKind::kRequest,
                                       .last = order.last,
                                       .shard = order.channel,
                                       .round = order.round,
                                       .iteration = order.iteration,
                                       .samples = order.samples,
                                       .time = now - order.iteration_start});
  const bool own_place = order.pull.data() != order.push.data();
  if (own_place) BeginPull(key, transfer);
  if (!wait_for_grant_) BeginPush(key, transfer);
}

void WorkerExchange::ReceiveControl(int server) {
  ++outstanding_;
  transport_.Receive(workers_ + server, Tag(MessageKind::kControl, 0, 0),
                     control_buffers_[static_cast<std::size_t>(server)],
                     [server, events = events_](const Status& status) {
                       events->Push(ControlArrived{server, status});
                     });
}

void WorkerExchange::SendControl(int server, ControlMessage message) {
  message.generation = options_.generation;
  const auto bytes = std::make_shared<ControlBuffer>(EncodeControl(message));
  const bool farewell = done_;
  ++outstanding_;
  transport_.Send(workers_ + server, Tag(MessageKind::kControl, 0, 0), *bytes,
                  [server, farewell, bytes, events = events_](const Status& status) {
                    events->Push(ControlSent{server, farewell, status});
                  });
}

void WorkerExchange::BeginPush(const Key& key, Transfer& transfer) {
  transfer.push_begun = true;
  for (int chunk = 0; chunk < transfer.chunks.count(); ++chunk) {
    const std::span<const float> part = transfer.order.push.subspan(
        static_cast<std::size_t>(transfer.chunks.first(chunk)), static_cast<std::size_t>(transfer.chunks.size(chunk)));
    ++outstanding_;
    transport_.Send(workers_ + transfer.record.server, Tag(MessageKind::kPush, key.first, key.second),
                    std::as_bytes(part), [key, events = events_, &clock = clock_](const Status& status) {
                      events->Push(Moved{key, true, status, clock.Now()});
                    });
  }
}

void WorkerExchange::BeginPull(const Key& key, Transfer& transfer) {
  transfer.pull_begun = true;
  for (int chunk = 0; chunk < transfer.chunks.count(); ++chunk) {
    const std::span<float> part = transfer.order.pull.subspan(static_cast<std::size_t>(transfer.chunks.first(chunk)),
                                                              static_cast<std::size_t>(transfer.chunks.size(chunk)));
    ++outstanding_;
    transport_.Receive(workers_ + transfer.record.server, Tag(MessageKind::kPull, key.first, key.second),
                       std::as_writable_bytes(part), [key, events = events_, &clock = clock_](const Status& status) {
                         events->Push(Moved{key, false, status, clock.Now()});
                       });
  }
}

void WorkerExchange::OnControl(const ControlArrived& event) {
  if (!event.status.ok()) {
    Fail(event.status.WithContext(ServerName(event.server)), workers_ + event.server);
    return;
  }
  const Result<ControlMessage> decoded = DecodeControl(control_buffers_[static_cast<std::size_t>(event.server)]);
  if (!decoded.ok()) {
    Fail(decoded.status().WithContext(ServerName(event.server)), workers_ + event.server);
    return;
  }
  const ControlMessage& message = *decoded;
  if (message.generation < options_.generation) {  // left over from before the ranks were formed anew
    ReceiveControl(event.server);
    return;
  }
  if (message.generation > options_.generation) {
    Fail(FailedPreconditionError("generation " + std::to_string(options_.generation) + " is over: " +
                                 ServerName(event.server) + " is at " + std::to_string(message.generation)),
         transport_.rank());
    return;
  }
  switch (message.kind) {
    case ControlKind::kGrant:
      ReceiveControl(event.server);
      OnGrant(event.server, message);
      return;
    case ControlKind::kGoodbye:
      ++goodbyes_;
      return;
    case ControlKind::kFailure: {
      const std::string peer = PeerName(message.rank);
      const std::string what = message.code == StatusCode::kUnavailable        ? " is gone"
                               : message.code == StatusCode::kDeadlineExceeded ? " did not keep up" + LimitText()
                               : message.code == StatusCode::kCancelled        ? " was stopped"
                                                                               : " broke the protocol";
      Fail(Status(message.code, peer + what + ", says " + ServerName(event.server)), message.rank);
      return;
    }
    case ControlKind::kRequest:
    case ControlKind::kBarrier:
    case ControlKind::kQuery:
    case ControlKind::kAnswer:
      Fail(FailedPreconditionError(ServerName(event.server) + " sent what servers do not"), workers_ + event.server);
      return;
  }
}

void WorkerExchange::OnGrant(int server, const ControlMessage& message) {
  const Key key{message.shard, message.round};
  const auto it = transfers_.find(key);
  if (it == transfers_.end() || it->second.stage != Stage::kRequested || it->second.record.server != server) {
    Fail(FailedPreconditionError(ServerName(server) + " granted shard " + std::to_string(message.shard) + " round " +
                                 std::to_string(message.round) + ", which was not asked for"),
         workers_ + server);
    return;
  }
  Transfer& transfer = it->second;
  SetStage(transfer, Stage::kGranted);
  corrections_[static_cast<std::size_t>(server)] = message.time;
  transfer.record.staleness_wait = message.staleness_wait;
  transfer.order.samples = message.samples;
  const TimePoint now = clock_.Now();
  if (wait_for_grant_) {
    transfer.record.granted = now;
    BeginPush(key, transfer);
  }
  EndIfThrough(key, now);
}

void WorkerExchange::OnMoved(const Moved& event) {
  const auto it = transfers_.find(event.key);
  WEFT_CHECK(it != transfers_.end()) << "shard " << event.key.first << " round " << event.key.second;
  Transfer& transfer = it->second;
  if (!event.status.ok()) {
    Fail(event.status.WithContext(ServerName(transfer.record.server) + (event.push ? ", push of " : ", pull of ") +
                                  "group " + std::to_string(transfer.record.group) + " round " +
                                  std::to_string(transfer.record.round)),
         workers_ + transfer.record.server);
    return;
  }
  ++(event.push ? transfer.pushed_chunks : transfer.pulled_chunks);
  if (event.push && transfer.pushed_chunks == transfer.chunks.count() && !transfer.pull_begun) {
    BeginPull(event.key, transfer);
  }
  EndIfThrough(event.key, event.time);
}

void WorkerExchange::EndIfThrough(const Key& key, TimePoint now) {
  const auto it = transfers_.find(key);
  Transfer& transfer = it->second;
  const int chunks = transfer.chunks.count();
  if (transfer.stage != Stage::kGranted || transfer.pushed_chunks < chunks || transfer.pulled_chunks < chunks) return;
  TransferRecord& record = transfer.record;
  record.end = now;
  record.overrun = transfer.order.planned_start && now > record.planned_start + transfer.order.slot_length;
  {
    MutexLock lock(mutex_);
    records_.push_back(record);
    GroupRound& round = rounds_.at({record.group, record.round});
    round.samples = transfer.order.samples;
    round.stages.erase(key.first);
    if (--round.shards_left == 0) changed_.NotifyAll();
  }
  transfers_.erase(it);
}

void WorkerExchange::SetStage(Transfer& transfer, Stage stage) {
  transfer.stage = stage;
  MutexLock lock(mutex_);
  const auto it = rounds_.find({transfer.record.group, transfer.record.round});
  if (it != rounds_.end()) it->second.stages[transfer.order.channel] = stage;
}

void WorkerExchange::Fail(const Status& status, int rank_at_fault) {
  if (done_) return;
  done_ = true;
  Status cause;
  {
    MutexLock lock(mutex_);
    if (error_.ok()) error_ = status;
    cause = error_;
    changed_.NotifyAll();
  }
  // So that the others need not find out by their own time-outs. What is under way otherwise may hang for ever.
  int untold = 0;
  for (int server = 0; server < servers_; ++server) {
    if (workers_ + server == rank_at_fault) continue;
    SendControl(server, {.kind = ControlKind::kFailure, .code = cause.code(), .rank = rank_at_fault});
    ++untold;
  }
  const TimePoint deadline = clock_.Now() + std::min(kFarewell, options_.peer_timeout);
  while (untold > 0) {
    const std::optional<Event> event = events_->PopUntil(deadline);
    if (!event) break;
    const auto* sent = std::get_if<ControlSent>(&*event);
    if (sent != nullptr && sent->farewell) --untold;
  }
  transport_.Abort(cause);
}

}  // namespace weft
