#include "coordinator/planner/server_simulator.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <queue>

#include "common/check.h"
#include "coordinator/planner/flows.h"
#include "coordinator/planner/fusion.h"
#include "coordinator/planner/link_meter.h"
#include "coordinator/planner/pace.h"

namespace weft {
namespace {

std::size_t Size(int value) { return static_cast<std::size_t>(value); }

double TransfersPerIteration(const Plan& plan) {
  return static_cast<double>(plan.shards.size()) * plan.workers / plan.period + static_cast<double>(plan.groups.size());
}

class Simulation {
 public:
  Simulation(const Plan& plan, const PlanRequest& request, const LinkTable& links, const SimulationOptions& options)
      : plan_(plan),
        links_(links),
        apply_(request.options.apply),
        admission_(request.options.admission),
        interleaved_(plan.strategy == StrategyType::kInterleavedPS),
        forward_us_(request.timeline.forward_us()),
        compute_us_(request.timeline.compute_us()),
        measured_(IterationsToMeasure(plan.period, options.iterations, TransfersPerIteration(plan))),
        warm_(IterationsToSettle(plan.period, measured_, options.slowdown)),
        pace_(options),
        flows_(PortRates(links, plan.workers, plan.servers)),
        meter_(plan.workers, plan.servers),
        workers_(Size(plan.workers)),
        servers_(Size(plan.servers)),
        shards_(plan.shards.size()),
        group_stall_us_(plan.groups.size(), 0),
        forward_start_us_(plan.groups.size(), 0),
        ready_us_(plan.groups.size(), 0),
        shard_begin_(plan.groups.size() + 1, plan.shards.size()) {
    const Timeline& timeline = request.timeline;
    double forward = 0;
    for (std::size_t n = plan.groups.size(); n-- > 0;) {
      const PlanGroup& group = plan.groups[n];
      forward_start_us_[n] = forward;
      for (int i = group.first_layer; i <= group.last_layer; ++i) forward += timeline.layers[Size(i)].forward_us;
      ready_us_[n] = RunReadyUs(timeline, {group.first_layer, group.last_layer, group.bytes});
    }
    for (std::size_t i = plan.shards.size(); i-- > 0;) shard_begin_[Size(plan.shards[i].group)] = i;
    for (Worker& worker : workers_) {
      worker.issued.assign(plan.groups.size(), 0);
      worker.completed.assign(plan.groups.size(), 0);
      worker.slot_us.assign(plan.shards.size(), kAsked);
    }
    for (ShardState& shard : shards_) shard.rounds.assign(workers_.size(), 0);
  }

  SimulationResult Run() {
    for (int w = 0; w < plan_.workers; ++w) BeginIteration(w);
    while (finished_ < plan_.workers) Step();
    return Summary();
  }

 private:
  enum class EventType {
    kStop,    // worker `a` reaches its next stop
    kAsk,     // worker `a` asks for shard `b`
    kArrive,  // the request is at the server
    kMove,    // the latency of transfer `b` is over
  };
  struct Event {
    double at;
    std::int64_t order;  // breaks ties by age
    EventType type;
    int worker;
    std::size_t index;
    bool operator>(const Event& other) const { return at != other.at ? at > other.at : order > other.order; }
  };

  static constexpr double kAsked = std::numeric_limits<double>::infinity();

  enum class StopType { kWait, kPush, kEnd };
  // Where a worker does something beside computing, in its compute time from the start of the iteration.
  struct Stop {
    double position_us;
    StopType type;
    std::size_t group;
    std::int64_t target;  // kWait: go on when so many of the group's transfers are complete
  };

  struct Worker {
    int iteration = 0;
    double start_us = 0;
    double factor = 1;
    double position_us = 0;
    std::vector<Stop> stops;
    std::size_t next_stop = 0;
    bool blocked = false;
    double blocked_since = 0;
    std::vector<std::int64_t> issued;     // by group: transfers of its shards so far
    std::vector<std::int64_t> completed;  // by group
    std::vector<double> slot_us;          // by shard: when its slot starts; kAsked: it has asked already
    double measured_from = 0;
    double measured_to = 0;
    double stall_us = 0;
  };
  struct ServerState {
    bool busy = false;                              // admission: reserved or serving
    std::deque<std::pair<int, std::size_t>> queue;  // worker and shard that ask
    int in_service = 0;                             // transfers in latency or moving
  };
  struct Held {
    int worker;
    double since;
  };
  struct ShardState {
    int pushes = 0;                    // of the round that is being built
    std::int64_t committed = 0;        // rounds
    std::vector<std::int64_t> rounds;  // by worker: rounds begun
    std::vector<Held> held;            // ask for the round after the one being built
  };
  enum class TransferType { kExchange, kPush, kPull };
  struct Transfer {
    TransferType type;
    int worker;
    std::size_t shard;
  };

  void At(double when, EventType type, int worker, std::size_t index) {
    events_.push({.at = std::max(when, now_), .order = next_order_++, .type = type, .worker = worker, .index = index});
  }

  void Step() {
    const double next_event = events_.empty() ? std::numeric_limits<double>::infinity() : events_.top().at;
    const double until_end = flows_.UntilFirstEnd();
    const double until = std::min(next_event - now_, until_end);
    WEFT_CHECK(std::isfinite(until)) << "the simulated workers wait for one another";
    if (measuring_ > 0) meter_.Advance(flows_, until);
    const double then = until_end <= next_event - now_ ? now_ + until_end : next_event;
    now_ = then;
    ended_ = flows_.Advance(until);
    for (const Flows::Flow& flow : ended_) EndTransfer(flow.tag);
    if (!ended_.empty()) return;
    const Event event = events_.top();
    events_.pop();
    switch (event.type) {
      case EventType::kStop:
        ReachStop(event.worker);
        break;
      case EventType::kAsk:
        AskAtSlot(event.worker, event.index);
        break;
      case EventType::kArrive:
        Arrive(event.worker, event.index);
        break;
      case EventType::kMove:
        Move(event.index);
        break;
    }
  }

  // ---- workers

  void BeginIteration(int w) {
    Worker& worker = workers_[Size(w)];
    if (worker.iteration == warm_) {
      worker.measured_from = now_;
      ++measuring_;
    }
    if (worker.iteration == warm_ + measured_) {
      worker.measured_to = now_;
      --measuring_;
      ++finished_;
      return;
    }
    ++worker.iteration;
    worker.start_us = now_;
    worker.factor = pace_.Next(w);
    worker.position_us = 0;
    worker.next_stop = 0;
    SetStops(&worker);
    if (interleaved_ && plan_.workers > 1) AskInSlots(w);
    GoOn(w);
  }

  void SetStops(Worker* worker) {
    worker->stops.clear();
    const std::size_t count = plan_.groups.size();
    const bool late = interleaved_ && apply_ == Apply::kLate;
    for (std::size_t n = count; n-- > 0;) {
      if (worker->issued[n] == worker->completed[n]) continue;
      const double position = late ? forward_us_ + ready_us_[n] : forward_start_us_[n];
      worker->stops.push_back({position, StopType::kWait, n, worker->issued[n]});
    }
    if (late) std::reverse(worker->stops.begin(), worker->stops.end());
    if (!interleaved_ && plan_.workers > 1) {
      for (std::size_t n = 0; n < count; ++n) {
        worker->stops.push_back({forward_us_ + ready_us_[n], StopType::kPush, n, 0});
      }
    }
    worker->stops.push_back({compute_us_, StopType::kEnd, 0, 0});
  }

  void AskInSlots(int w) {
    Worker& worker = workers_[Size(w)];
    for (std::size_t n = 0; n < plan_.groups.size(); ++n) {
      const PlanGroup& group = plan_.groups[n];
      if (!Synchronizes(plan_.phase, plan_.period, group.index, worker.iteration)) continue;
      const std::int64_t round = RoundsThrough(plan_.phase, plan_.period, group.index, worker.iteration) - 1;
      for (std::size_t i = shard_begin_[n]; i < plan_.shards.size() && Size(plan_.shards[i].group) == n; ++i) {
        const int slot = SlotOf(w, round, plan_.shards[i].server, plan_.workers, plan_.servers);
        ++worker.issued[n];
        worker.slot_us[i] = worker.start_us + forward_us_ + group.window_from_us + slot * group.slot_us;
        At(worker.slot_us[i], EventType::kAsk, w, i);
      }
    }
  }

  // To the next stop, if the worker need not wait here.
  void GoOn(int w) {
    Worker& worker = workers_[Size(w)];
    const Stop& stop = worker.stops[worker.next_stop];
    const double us = std::max(0.0, stop.position_us - worker.position_us) * worker.factor;
    At(now_ + us, EventType::kStop, w, 0);
  }

  void ReachStop(int w) {
    Worker& worker = workers_[Size(w)];
    const Stop stop = worker.stops[worker.next_stop];
    worker.position_us = std::max(worker.position_us, stop.position_us);
    switch (stop.type) {
      case StopType::kEnd:
        return BeginIteration(w);
      case StopType::kPush:
        PushGroup(w, stop.group);
        break;
      case StopType::kWait:
        if (worker.completed[stop.group] < stop.target) {
          worker.blocked = true;
          worker.blocked_since = now_;
          AskForGroup(w, stop.group);
          return;
        }
        break;
    }
    ++worker.next_stop;
    GoOn(w);
  }

  void Complete(int w, std::size_t shard) {
    Worker& worker = workers_[Size(w)];
    const std::size_t group = Size(plan_.shards[shard].group);
    ++worker.completed[group];
    if (!worker.blocked) return;
    const Stop& stop = worker.stops[worker.next_stop];
    if (stop.group != group || worker.completed[group] < stop.target) return;
    worker.blocked = false;
    if (worker.iteration > warm_) {
      worker.stall_us += now_ - worker.blocked_since;
      group_stall_us_[group] = std::max(group_stall_us_[group], now_ - worker.blocked_since);
    }
    ++worker.next_stop;
    GoOn(w);
  }

  // ---- interleaved

  void AskAtSlot(int w, std::size_t shard) {
    double& slot_us = workers_[Size(w)].slot_us[shard];
    if (slot_us == kAsked || slot_us > now_) return;
    slot_us = kAsked;
    Ask(w, shard);
  }

  // A worker that waits for a group does not wait for its slot too.
  void AskForGroup(int w, std::size_t group) {
    if (!interleaved_) return;
    for (std::size_t i = shard_begin_[group]; i < plan_.shards.size() && Size(plan_.shards[i].group) == group; ++i) {
      double& slot_us = workers_[Size(w)].slot_us[i];
      if (slot_us == kAsked) continue;
      slot_us = kAsked;
      Ask(w, i);
    }
  }

  void Ask(int w, std::size_t shard) {
    ShardState& state = shards_[shard];
    if (state.rounds[Size(w)] > state.committed) {
      state.held.push_back({w, now_});
      return;
    }
    ++state.rounds[Size(w)];
    if (admission_) {
      At(now_ + links_.at(w, plan_.shards[shard].server).latency_us, EventType::kArrive, w, shard);
    } else {
      Begin({TransferType::kExchange, w, shard}, 0);
    }
  }

  void Arrive(int w, std::size_t shard) {
    const int s = plan_.shards[shard].server;
    ServerState& server = servers_[Size(s)];
    if (server.busy) {
      server.queue.emplace_back(w, shard);
      return;
    }
    server.busy = true;
    Begin({TransferType::kExchange, w, shard}, links_.at(w, s).latency_us);  // the grant's way back
  }

  // ---- synchronous

  void PushGroup(int w, std::size_t group) {
    Worker& worker = workers_[Size(w)];
    for (std::size_t i = shard_begin_[group]; i < plan_.shards.size() && Size(plan_.shards[i].group) == group; ++i) {
      ++worker.issued[group];
      Begin({TransferType::kPush, w, i}, 0);
    }
  }

  void Reply(std::size_t shard) {
    for (int w = 0; w < plan_.workers; ++w) Begin({TransferType::kPull, w, shard}, 0);
  }

  // ---- transfers

  void Begin(const Transfer& transfer, double extra_us) {
    std::size_t tag = transfers_.size();
    if (free_tags_.empty()) {
      transfers_.push_back(transfer);
    } else {
      tag = free_tags_.back();
      free_tags_.pop_back();
      transfers_[tag] = transfer;
    }
    const int s = plan_.shards[transfer.shard].server;
    meter_.Serve(plan_.workers + s, +1);
    At(now_ + extra_us + links_.at(transfer.worker, s).latency_us, EventType::kMove, transfer.worker, tag);
  }

  void Move(std::size_t tag) {
    const Transfer& transfer = transfers_[tag];
    const Shard& shard = plan_.shards[transfer.shard];
    Flows::Flow flow;
    flow.from = transfer.worker;
    flow.to = plan_.workers + shard.server;
    flow.forth = transfer.type != TransferType::kPull;
    flow.back = transfer.type != TransferType::kPush;
    flow.link_rate = RateOf(links_.at(transfer.worker, shard.server));
    flow.bytes_left = 4.0 * static_cast<double>(shard.count);
    flow.tag = tag;
    flows_.Add(flow);
  }

  void EndTransfer(std::size_t tag) {
    const Transfer transfer = transfers_[tag];
    free_tags_.push_back(tag);
    const int s = plan_.shards[transfer.shard].server;
    ServerState& server = servers_[Size(s)];
    meter_.Serve(plan_.workers + s, -1);
    switch (transfer.type) {
      case TransferType::kExchange:
        Pushed(transfer.shard);
        if (admission_) NextOf(&server);
        Complete(transfer.worker, transfer.shard);
        break;
      case TransferType::kPush:
        Pushed(transfer.shard);
        break;
      case TransferType::kPull:
        Complete(transfer.worker, transfer.shard);
        break;
    }
  }

  void NextOf(ServerState* server) {
    if (server->queue.empty()) {
      server->busy = false;
      return;
    }
    const auto [w, shard] = server->queue.front();
    server->queue.pop_front();
    Begin({TransferType::kExchange, w, shard}, 0);  // its grant left while the one before was still moving
  }

  void Pushed(std::size_t shard) {
    ShardState& state = shards_[shard];
    if (++state.pushes < plan_.workers) return;
    state.pushes = 0;
    ++state.committed;
    if (!interleaved_) return Reply(shard);
    std::vector<Held> held;
    held.swap(state.held);
    for (const Held& each : held) {
      if (measuring_ > 0) staleness_wait_us_ += now_ - each.since;
      Ask(each.worker, shard);
    }
  }

  SimulationResult Summary() {
    SimulationResult out;
    out.compute_us = compute_us_;
    for (const Worker& worker : workers_) {
      out.iteration_us += (worker.measured_to - worker.measured_from) / measured_ / plan_.workers;
      out.stall_us += worker.stall_us / measured_ / plan_.workers;
    }
    out.group_stall_us = group_stall_us_;
    out.link_use = meter_.busy_share();
    out.concurrent_share = meter_.concurrent_share();
    out.peak_bytes_per_second = meter_.peak_bytes_per_second();
    out.sent_bytes.assign(Size(plan_.workers + plan_.servers), 0);
    for (const Shard& shard : plan_.shards) {
      if (plan_.workers == 1) break;
      const double bytes = 4.0 * static_cast<double>(shard.count) / plan_.period;
      for (int w = 0; w < plan_.workers; ++w) out.sent_bytes[Size(w)] += bytes;
      out.sent_bytes[Size(plan_.workers + shard.server)] += bytes * plan_.workers;
      out.bytes_per_iteration += bytes * plan_.workers;
    }
    out.staleness_wait_us = staleness_wait_us_ / measured_ / plan_.workers;
    return out;
  }

  const Plan& plan_;
  const LinkTable& links_;
  const Apply apply_;
  const bool admission_;
  const bool interleaved_;
  const double forward_us_;
  const double compute_us_;
  const int measured_;
  const int warm_;
  Pace pace_;

  double now_ = 0;
  std::int64_t next_order_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Flows flows_;
  LinkMeter meter_;
  std::vector<Flows::Flow> ended_;
  std::vector<Worker> workers_;
  std::vector<ServerState> servers_;
  std::vector<ShardState> shards_;
  std::vector<Transfer> transfers_;  // by tag
  std::vector<std::size_t> free_tags_;
  std::vector<double> group_stall_us_;
  std::vector<double> forward_start_us_;  // by group, from the start of forward
  std::vector<double> ready_us_;          // by group, from the start of backward
  std::vector<std::size_t> shard_begin_;  // by group: its first shard
  int measuring_ = 0;                     // workers in their measured iterations
  int finished_ = 0;
  double staleness_wait_us_ = 0;
};

}  // namespace

SimulationResult SimulateServers(const Plan& plan, const PlanRequest& request, const LinkTable& links,
                                 const SimulationOptions& options) {
  return Simulation(plan, request, links, options).Run();
}

}  // namespace weft
