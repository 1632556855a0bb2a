// The gossip simulator's clock and network: callbacks at times, and messages between ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "coordinator/planner/flows.h"
#include "coordinator/planner/link_meter.h"
#include "coordinator/planner/links.h"

namespace weft {

class SimulatedNetwork {
 public:
  using Callback = std::function<void()>;

  SimulatedNetwork(const PeerLinks& links, int workers);

  double now() const { return now_; }
  void At(double when, Callback run);
  // `arrived` runs when the message is there: its link's latency and then its bytes, shared with what else moves.
  void Send(int from, int to, double bytes, Callback arrived);
  // To the next moment at which something happens.
  void Step();

  // What the meter and the counts see from now on, or until now.
  void Measure(bool on) { measuring_ = on; }
  const LinkMeter& meter() const { return meter_; }
  // By rank, while it measured.
  const std::vector<double>& sent_bytes() const { return sent_bytes_; }

 private:
  struct Event {
    double at;
    std::int64_t order;  // breaks ties by age
    std::size_t callback;
    bool operator>(const Event& other) const { return at != other.at ? at > other.at : order > other.order; }
  };
  struct Message {
    int from = 0;
    int to = 0;
    double bytes = 0;
    Callback arrived;
  };

  void Serve(const Message& message, int change);

  const PeerLinks& links_;
  double now_ = 0;
  bool measuring_ = false;
  std::int64_t next_order_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<Callback> callbacks_;  // by Event::callback
  std::vector<std::size_t> free_callbacks_;
  std::vector<Message> messages_;  // by Flow::tag
  std::vector<std::size_t> free_messages_;
  Flows flows_;
  LinkMeter meter_;
  std::vector<double> sent_bytes_;
};

}  // namespace weft
