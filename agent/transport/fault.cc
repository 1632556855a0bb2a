#include "agent/transport/fault.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/transport/random_delay.h"

namespace weft {
namespace {

// Waits that end by a notification; the time only bounds a lost one.
constexpr Duration kWaitStep = std::chrono::seconds(1);

}  // namespace

FaultTransport::FaultTransport(Transport& below, const FaultOptions& options)
    : below_(below), options_(options), all_reduce_(*this) {
  thread_ = std::thread([this] { Run(); });
}

FaultTransport::~FaultTransport() {
  EndHeld(CancelledError("the transport was closed"));
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void FaultTransport::Send(int to, Tag tag, std::span<const std::byte> data, Completion done) {
  Status aborted;
  const bool limited = options_.bytes_per_second != nullptr && data.size() > FaultOptions::kSmallMessage;
  const double rate = limited ? options_.bytes_per_second() : 0;
  {
    const MutexLock lock(mutex_);
    aborted = aborted_;
    if (aborted.ok()) {
      Channel& channel = channels_[{to, tag.value()}];
      const Duration delay = RandomDelay(options_.max_delay, options_.seed, rank(), to, tag, channel.sent++);
      const TimePoint now = Clock::Steady().Now();
      TimePoint leaves = std::max(channel.last_leaves, now + delay);
      if (rate > 0) {
        port_free_ = std::max(port_free_, now) + FromSeconds(static_cast<double>(data.size()) / rate);
        leaves = std::max(leaves, port_free_);
      }
      channel.last_leaves = leaves;
      held_.push(
          {.leaves = leaves, .order = next_order_++, .to = to, .tag = tag, .data = data, .done = std::move(done)});
      changed_.NotifyAll();
      return;
    }
  }
  done(aborted);
}

void FaultTransport::Receive(int from, Tag tag, std::span<std::byte> data, Completion done) {
  below_.Receive(from, tag, data, std::move(done));
}

void FaultTransport::AllReduce(std::span<float> data, int ranks, Completion done) {
  if (data.empty() || ranks == 1) return below_.AllReduce(data, ranks, std::move(done));
  all_reduce_.Start(data, ranks, std::move(done));
}

void FaultTransport::Abort(const Status& cause) {
  EndHeld(cause);
  below_.Abort(cause);
}

// When it returns, no held message is left and none is being given to the transport below.
void FaultTransport::EndHeld(const Status& cause) {
  std::vector<Held> ended;
  const Status error = CancelledError(cause.message());
  {
    const MutexLock lock(mutex_);
    if (aborted_.ok()) aborted_ = error;
    for (; !held_.empty(); held_.pop()) ended.push_back(held_.top());
    while (giving_) changed_.WaitUntil(mutex_, Clock::Steady().Now() + kWaitStep);
  }
  for (const Held& held : ended) held.done(error);
}

std::string FaultTransport::description() const {
  return below_.description() + ", sends delayed up to " +
         std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(options_.max_delay).count()) + " us";
}

void FaultTransport::Run() {
  while (true) {
    std::optional<Held> leaving;
    {
      const MutexLock lock(mutex_);
      while (!stopping_ && (held_.empty() || held_.top().leaves > Clock::Steady().Now())) {
        changed_.WaitUntil(mutex_, held_.empty() ? Clock::Steady().Now() + kWaitStep : held_.top().leaves);
      }
      if (stopping_) return;
      leaving = held_.top();
      held_.pop();
      giving_ = true;
    }
    below_.Send(leaving->to, leaving->tag, leaving->data, std::move(leaving->done));
    const MutexLock lock(mutex_);
    giving_ = false;
    changed_.NotifyAll();
  }
}

}  // namespace weft
