#include "coordinator/planner/network.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "common/check.h"

namespace weft {
namespace {

template <typename T>
std::size_t Put(T value, std::vector<T>* values, std::vector<std::size_t>* free) {
  if (free->empty()) {
    values->push_back(std::move(value));
    return values->size() - 1;
  }
  const std::size_t at = free->back();
  free->pop_back();
  (*values)[at] = std::move(value);
  return at;
}

}  // namespace

SimulatedNetwork::SimulatedNetwork(const PeerLinks& links, int workers)
    : links_(links),
      flows_(PortRates(links, workers)),
      meter_(0, workers),
      sent_bytes_(static_cast<std::size_t>(workers), 0) {}

void SimulatedNetwork::At(double when, Callback run) {
  const std::size_t callback = Put(std::move(run), &callbacks_, &free_callbacks_);
  events_.push({.at = std::max(when, now_), .order = next_order_++, .callback = callback});
}

void SimulatedNetwork::Serve(const Message& message, int change) {
  meter_.Serve(message.from, change);
  meter_.Serve(message.to, change);
}

void SimulatedNetwork::Send(int from, int to, double bytes, Callback arrived) {
  const Link link = links_.between(from, to);
  const std::size_t tag =
      Put(Message{.from = from, .to = to, .bytes = bytes, .arrived = std::move(arrived)}, &messages_, &free_messages_);
  Serve(messages_[tag], +1);
  At(now_ + link.latency_us, [this, tag, rate = RateOf(link)] {
    const Message& message = messages_[tag];
    flows_.Add({.from = message.from,
                .to = message.to,
                .forth = true,
                .back = false,
                .link_rate = rate,
                .bytes_left = message.bytes,
                .rate = 0,
                .tag = tag});
  });
}

void SimulatedNetwork::Step() {
  const double next_event = events_.empty() ? std::numeric_limits<double>::infinity() : events_.top().at;
  const double until_end = flows_.UntilFirstEnd();
  const double until = std::min(next_event - now_, until_end);
  WEFT_CHECK(std::isfinite(until)) << "the simulated workers wait for one another";
  if (until > 0 || until_end <= 0) {
    if (measuring_) meter_.Advance(flows_, until);
    // A copy: what has arrived may send, and then the flows' own list is another.
    const std::vector<Flows::Flow> ended = flows_.Advance(until);
    now_ = until_end <= next_event - now_ ? now_ + until_end : next_event;
    for (const Flows::Flow& flow : ended) {
      const Message message = std::exchange(messages_[flow.tag], {});
      free_messages_.push_back(flow.tag);
      Serve(message, -1);
      if (measuring_) sent_bytes_[static_cast<std::size_t>(message.from)] += message.bytes;
      message.arrived();
    }
    if (!ended.empty()) return;
  }
  const Event event = events_.top();
  events_.pop();
  const Callback run = std::exchange(callbacks_[event.callback], nullptr);
  free_callbacks_.push_back(event.callback);
  run();
}

}  // namespace weft
