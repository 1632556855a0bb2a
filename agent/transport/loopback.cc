#include "agent/transport/loopback.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "agent/transport/all_reduce.h"
#include "agent/transport/random_delay.h"
#include "agent/transport/register_service.h"
#include "agent/transport/shared_registers.h"
#include "common/check.h"

namespace weft {
namespace {

// Small enough that copying delays no event by much.
constexpr std::size_t kCopyChunkBytes = 64 << 10;
constexpr Duration kIdleWait = std::chrono::seconds(1);

std::size_t Index(int rank) { return static_cast<std::size_t>(rank); }

MessageKind KindOf(Tag tag) { return static_cast<MessageKind>(tag.value() >> (Tag::kChannelBits + Tag::kRoundBits)); }

std::vector<LinkModel> LinksOf(const LoopbackOptions& options, int world_size) {
  if (options.links.empty()) return std::vector<LinkModel>(Index(world_size));
  if (options.links.size() == 1) return std::vector<LinkModel>(Index(world_size), options.links.front());
  WEFT_CHECK(options.links.size() == Index(world_size)) << options.links.size() << " links, " << world_size << " ranks";
  return options.links;
}

}  // namespace

struct LoopbackNetwork::Message {
  std::int64_t id = 0;
  std::span<const std::byte> data;  // owned by the transport until `done` runs
  Completion done;
  std::int64_t death_bytes = -1;  // the sender dies when so many bytes have left; negative: it does not
  bool death_on_arrival = false;
  bool is_lost = false;           // never arrives
  std::size_t copied = 0;         // bytes of `data` that are in the receiver's buffer already
  std::vector<std::byte> buffer;  // its bytes, once it has arrived before its Receive
};

class LoopbackNetwork::Endpoint : public Transport {
 public:
  Endpoint(LoopbackNetwork& network, int rank) : network_(network), rank_(rank), all_reduce_(*this) {}

  int rank() const override { return rank_; }
  int world_size() const override { return network_.world_size_; }
  std::string description() const override { return "loopback"; }

  void Send(int to, Tag tag, std::span<const std::byte> data, Completion done) override {
    WEFT_CHECK(to >= 0 && to < network_.world_size_) << "rank " << to;
    network_.Post([this, to, tag, data, done = std::move(done)]() mutable {
      network_.ApplySend(rank_, to, tag, data, std::move(done));
    });
  }
  void Receive(int from, Tag tag, std::span<std::byte> data, Completion done) override {
    WEFT_CHECK(from >= 0 && from < network_.world_size_) << "rank " << from;
    network_.Post([this, from, tag, data, done = std::move(done)]() mutable {
      network_.ApplyReceive(from, rank_, tag, data, std::move(done));
    });
  }
  void AllReduce(std::span<float> data, int ranks, Completion done) override {
    network_.Post([this, data, ranks, done = std::move(done)]() mutable {
      if (data.empty() || ranks == 1) return done(network_.RefusalOf(rank_, rank_));
      all_reduce_.Start(data, ranks, std::move(done));
    });
  }
  Result<std::unique_ptr<Registers>> MakeRegisters(const RegistersOptions& options, TimePoint deadline) override;
  void Abort(const Status& cause) override {
    network_.PostAndWait([this, cause] { network_.ApplyAbort(rank_, cause); });
    // What completions had started meanwhile, such as the next messages of a sum, ends as well.
    network_.PostAndWait([] {});
  }

 private:
  LoopbackNetwork& network_;
  const int rank_;
  RingAllReduce all_reduce_;
  Mutex registers_mutex_;  // held while registers are made
  int next_instance_ WEFT_GUARDED_BY(registers_mutex_) = 0;
};

Result<std::unique_ptr<Registers>> LoopbackNetwork::Endpoint::MakeRegisters(const RegistersOptions& options,
                                                                            TimePoint deadline) {
  const RegisterMechanism mechanism = options.mechanism.value_or(RegisterMechanism::kService);
  if (mechanism != RegisterMechanism::kService && mechanism != RegisterMechanism::kSharedMemory) {
    return UnimplementedError(std::string("the loopback has no registers by ") + Name(mechanism));
  }
  const MutexLock lock(registers_mutex_);
  WEFT_ASSIGN_OR_RETURN(const int instance, AgreeOnInstance(*this, options.ranks, next_instance_, deadline));
  if (mechanism == RegisterMechanism::kSharedMemory) {
    WEFT_ASSIGN_OR_RETURN(std::unique_ptr<SharedRegisters> made,
                          SharedRegisters::Make(*this, options, instance, deadline));
    return std::unique_ptr<Registers>(std::move(made));
  }
  return std::unique_ptr<Registers>(
      std::make_unique<RegisterService>(*this, options, instance, "the ranks are threads"));
}

LoopbackNetwork::LoopbackNetwork(int world_size, LoopbackOptions options)
    : world_size_(world_size),
      options_(std::move(options)),
      now_(Clock::Steady().Now()),
      fluid_(LinksOf(options_, world_size), now_),
      sent_(Index(world_size), 0),
      aborted_(Index(world_size)),
      dead_(Index(world_size), false),
      cut_(Index(world_size), false) {
  for (int rank = 0; rank < world_size; ++rank) endpoints_.push_back(std::make_unique<Endpoint>(*this, rank));
  thread_ = std::thread([this] { Run(); });
}

LoopbackNetwork::~LoopbackNetwork() {
  for (int rank = 0; rank < world_size_; ++rank) {
    PostAndWait([this, rank] { ApplyAbort(rank, CancelledError("the loopback network was closed")); });
  }
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    posted_.NotifyOne();
  }
  thread_.join();
}

Transport& LoopbackNetwork::endpoint(int rank) { return *endpoints_.at(Index(rank)); }

void LoopbackNetwork::Kill(int rank) {
  Post([this, rank] { ApplyKill(rank); });
}

void LoopbackNetwork::Cut(int rank) {
  Post([this, rank] { ApplyCut(rank); });
}

void LoopbackNetwork::LoseNext(int from, int to, MessageKind kind) {
  Post([this, from, to, kind] { ++losses_wanted_[{from, to, kind}]; });
}

RankStatistics LoopbackNetwork::statistics(int rank) {
  RankStatistics result;
  PostAndWait([this, rank, &result] { result = fluid_.Statistics(rank); });
  return result;
}

void LoopbackNetwork::ResetStatistics() {
  PostAndWait([this] { fluid_.ResetStatistics(); });
}

void LoopbackNetwork::Post(std::function<void()> run) {
  const MutexLock lock(mutex_);
  commands_.push_back({Clock::Steady().Now(), std::move(run)});
  if (commands_.size() == 1) posted_.NotifyOne();
}

void LoopbackNetwork::PostAndWait(std::function<void()> run) {
  WEFT_CHECK(std::this_thread::get_id() != thread_.get_id()) << "a completion must not wait for the network";
  Mutex mutex;
  CondVar ran_changed;
  bool ran = false;
  Post([&] {
    run();
    const MutexLock lock(mutex);
    ran = true;
    ran_changed.NotifyOne();
  });
  const MutexLock lock(mutex);
  while (!ran) ran_changed.WaitUntil(mutex, Clock::Steady().Now() + kIdleWait);
}

void LoopbackNetwork::Run() {
  // The default slack of 50 us would show in every transfer.
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  std::vector<Command> commands;
  while (true) {
    TimePoint now;
    {
      const MutexLock lock(mutex_);
      while (commands_.empty() && !stopping_) {
        TimePoint due = Clock::Steady().Now() + kIdleWait;
        if (!arrivals_.empty()) due = std::min(due, arrivals_.top().time);
        if (const auto end = fluid_.NextEnd()) due = std::min(due, *end);
        if (due <= Clock::Steady().Now()) break;
        mutex_.Unlock();
        const bool copied = CopyChunk();
        mutex_.Lock();
        if (!copied && commands_.empty() && !stopping_) posted_.WaitUntil(mutex_, due);
      }
      if (stopping_ && commands_.empty()) return;
      commands.swap(commands_);
      now = Clock::Steady().Now();  // under the lock: no later command can have an earlier time
    }
    for (Command& command : commands) {
      AdvanceTo(command.time);
      command.run();
    }
    commands.clear();
    AdvanceTo(now);
  }
}

void LoopbackNetwork::AdvanceTo(TimePoint time) {
  while (true) {
    const std::optional<TimePoint> end = fluid_.NextEnd();
    const bool arrival_due = !arrivals_.empty() && arrivals_.top().time <= time;
    if (end && *end <= time && (!arrival_due || *end < arrivals_.top().time)) {
      now_ = *end;
      fluid_.AdvanceTo(now_);
      const std::int64_t id = fluid_.TakeEnded().value();
      const auto found = on_the_wire_.find(id);
      WEFT_CHECK(found != on_the_wire_.end());
      Channel* channel = found->second;
      on_the_wire_.erase(found);
      Left(*channel);
    } else if (arrival_due) {
      const Arrival arrival = arrivals_.top();
      arrivals_.pop();
      now_ = arrival.time;
      fluid_.AdvanceTo(now_);
      auto& in_flight = arrival.channel->in_flight;
      // An aborted or lost message leaves its arrival behind.
      if (!in_flight.empty() && in_flight.front()->id == arrival.message_id) Arrive(*arrival.channel);
    } else {
      now_ = time;
      fluid_.AdvanceTo(now_);
      return;
    }
  }
}

// Copies a part of a message that is on the wire into its receiver's buffer, so that little is left to do when it
// arrives. False when there is nothing to copy.
bool LoopbackNetwork::CopyChunk() {
  for (const auto& [id, channel] : on_the_wire_) {
    if (channel->receives.size() <= channel->left) continue;
    Message& message = *channel->in_flight[channel->left];
    const std::span<std::byte> target = channel->receives[channel->left].data;
    const std::size_t limit =
        message.death_bytes < 0 ? message.data.size() : static_cast<std::size_t>(message.death_bytes);
    if (target.size() != message.data.size() || message.copied >= limit) continue;
    const std::size_t count = std::min(kCopyChunkBytes, limit - message.copied);
    std::memcpy(target.data() + message.copied, message.data.data() + message.copied, count);
    message.copied += count;
    return true;
  }
  return false;
}

Status LoopbackNetwork::RefusalOf(int rank, int peer) const {
  if (!aborted_[Index(rank)].ok()) return aborted_[Index(rank)];
  for (const int other : {rank, peer}) {
    if (dead_[Index(other)]) return UnavailableError("rank " + std::to_string(other) + " is gone");
  }
  return OkStatus();
}

void LoopbackNetwork::ApplySend(int from, int to, Tag tag, std::span<const std::byte> data, Completion done) {
  if (const Status refusal = RefusalOf(from, to); !refusal.ok()) {
    done(refusal);
    return;
  }
  auto message = std::make_unique<Message>();
  message->id = next_id_++;
  message->data = data;
  message->done = std::move(done);
  const std::int64_t number = ++sent_[Index(from)];
  for (const InjectedDeath& death : options_.deaths) {
    if (death.rank != from || death.message != number) continue;
    message->death_on_arrival = death.fraction >= 1;
    if (!message->death_on_arrival) {
      message->death_bytes = std::llround(death.fraction * static_cast<double>(data.size()));
    }
  }
  Channel& target = channel(from, to, tag);
  if (cut_[Index(from)] || cut_[Index(to)]) {
    target.lost.push_back(std::move(message));
    return;
  }
  message->is_lost = IsLost(target);
  target.in_flight.push_back(std::move(message));
  if (target.in_flight.size() == target.left + 1) StartNext(target);
}

// Whether the next message of the channel is lost.
bool LoopbackNetwork::IsLost(Channel& one) {
  const std::int64_t index = one.posted++;
  const MessageKind kind = KindOf(one.tag);
  if (const auto wanted = losses_wanted_.find({one.from, one.to, kind}); wanted != losses_wanted_.end()) {
    if (--wanted->second == 0) losses_wanted_.erase(wanted);
    return true;
  }
  const auto& kinds = options_.lossy_kinds;
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end() &&
         RandomLoss(options_.loss_probability, options_.seed, one.from, one.to, one.tag, index);
}

void LoopbackNetwork::ApplyReceive(int from, int to, Tag tag, std::span<std::byte> data, Completion done) {
  if (const Status refusal = RefusalOf(to, from); !refusal.ok()) {
    done(refusal);
    return;
  }
  Channel& source = channel(from, to, tag);
  PostedReceive receive{data, std::move(done)};
  if (source.arrived.empty()) {
    source.receives.push_back(std::move(receive));
    return;
  }
  const std::unique_ptr<Message> message = std::move(source.arrived.front());
  source.arrived.pop_front();
  Deliver(*message, receive);
}

void LoopbackNetwork::ApplyAbort(int rank, const Status& cause) {
  if (!aborted_[Index(rank)].ok()) return;
  aborted_[Index(rank)] = CancelledError(cause.message());
  const Status& error = aborted_[Index(rank)];
  for (auto& [key, one] : channels_) {
    if (one.from == rank) {
      for (const auto& message : one.in_flight) {
        on_the_wire_.erase(message->id);
        fluid_.Remove(message->id, now_);
        message->done(error);
      }
      for (const auto& message : one.lost) message->done(error);
      one.in_flight.clear();
      one.lost.clear();
      one.left = 0;
    }
    if (one.to == rank) {
      for (const PostedReceive& receive : one.receives) receive.done(error);
      one.receives.clear();
    }
  }
}

void LoopbackNetwork::ApplyKill(int rank) {
  if (dead_[Index(rank)]) return;
  dead_[Index(rank)] = true;
  const Status error = UnavailableError("rank " + std::to_string(rank) + " is gone");
  for (auto& [key, one] : channels_) {
    if (one.from != rank && one.to != rank) continue;
    for (const auto& message : one.in_flight) {
      on_the_wire_.erase(message->id);
      fluid_.Remove(message->id, now_);
      message->done(error);
    }
    for (const auto& message : one.lost) message->done(error);
    for (const PostedReceive& receive : one.receives) receive.done(error);
    one.in_flight.clear();
    one.lost.clear();
    one.arrived.clear();
    one.receives.clear();
    one.left = 0;
  }
}

void LoopbackNetwork::ApplyCut(int rank) {
  cut_[Index(rank)] = true;
  for (auto& [key, one] : channels_) {
    if (one.from != rank && one.to != rank) continue;
    for (auto& message : one.in_flight) {
      on_the_wire_.erase(message->id);
      fluid_.Remove(message->id, now_);
      one.lost.push_back(std::move(message));
    }
    one.in_flight.clear();
    one.left = 0;
  }
}

LoopbackNetwork::Channel& LoopbackNetwork::channel(int from, int to, Tag tag) {
  const auto entry = channels_.find(std::tuple(from, to, tag.value()));
  if (entry != channels_.end()) return entry->second;
  return channels_.emplace(std::tuple(from, to, tag.value()), Channel{.from = from, .to = to, .tag = tag})
      .first->second;
}

// Puts the first message that has not left on the wire. Requires that there is one and that it is not there yet.
void LoopbackNetwork::StartNext(Channel& one) {
  const Message& message = *one.in_flight[one.left];
  on_the_wire_.emplace(message.id, &one);
  const std::int64_t size = static_cast<std::int64_t>(message.data.size());
  fluid_.Start({.id = message.id,
                .from = one.from,
                .to = one.to,
                .kind = static_cast<int>(KindOf(one.tag)),
                .bytes = message.death_bytes < 0 ? size : message.death_bytes},
               now_);
}

// The message on the wire has left whole, or as far as its sender lives to send it.
void LoopbackNetwork::Left(Channel& one) {
  std::unique_ptr<Message>& message_at = one.in_flight[one.left];
  Message& message = *message_at;
  if (message.death_bytes >= 0) {
    const std::size_t limit = static_cast<std::size_t>(message.death_bytes);
    if (one.receives.size() > one.left && one.receives[one.left].data.size() == message.data.size() && limit > 0) {
      std::memcpy(one.receives[one.left].data.data(), message.data.data(), limit);
    }
    ApplyKill(one.from);
    return;
  }
  if (message.is_lost) {
    const std::unique_ptr<Message> lost = std::move(message_at);
    one.in_flight.erase(one.in_flight.begin() + static_cast<std::ptrdiff_t>(one.left));
    if (one.in_flight.size() > one.left) StartNext(one);
    lost->done(UnavailableError("a message from rank " + std::to_string(one.from) + " to rank " +
                                std::to_string(one.to) + " was lost"));
    return;
  }
  const Duration delay = RandomDelay(options_.max_delay, options_.seed, one.from, one.to, one.tag, one.sent++);
  // In order with the messages before it, whatever the delays.
  const TimePoint time = std::max(one.last_arrival, now_ + fluid_.link(one.from).latency + delay);
  one.last_arrival = time;
  ++one.left;
  arrivals_.push({.time = time, .order = next_id_++, .message_id = message.id, .channel = &one});
  if (one.in_flight.size() > one.left) StartNext(one);
}

void LoopbackNetwork::Arrive(Channel& one) {
  std::unique_ptr<Message> message = std::move(one.in_flight.front());
  one.in_flight.pop_front();
  --one.left;
  const bool sender_dies = message->death_on_arrival;
  if (one.receives.empty()) {
    message->buffer.assign(message->data.begin(), message->data.end());
    message->data = message->buffer;
    message->copied = 0;
    message->done(OkStatus());
    message->done = nullptr;
    one.arrived.push_back(std::move(message));
  } else {
    PostedReceive receive = std::move(one.receives.front());
    one.receives.pop_front();
    Deliver(*message, receive);
  }
  if (sender_dies) ApplyKill(one.from);
}

void LoopbackNetwork::Deliver(Message& message, PostedReceive& receive) {
  Status received;
  if (receive.data.size() != message.data.size()) {
    received = DataLossError("a message of " + std::to_string(message.data.size()) + " bytes for a buffer of " +
                             std::to_string(receive.data.size()));
  } else if (message.copied < message.data.size()) {
    std::memcpy(receive.data.data() + message.copied, message.data.data() + message.copied,
                message.data.size() - message.copied);
  }
  if (message.done) message.done(OkStatus());
  receive.done(received);
}

}  // namespace weft
