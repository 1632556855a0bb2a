#include "coordinator/planner/cost_model.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "coordinator/planner/fusion.h"

namespace weft {
namespace {

struct GroupShape {
  double forward_start_us = 0;  // from the start of forward
  double ready_us = 0;          // from the start of backward
  std::size_t shard_begin = 0;  // in plan.shards
  std::size_t shard_end = 0;
};

double BytesOf(const Shard& shard) { return 4.0 * static_cast<double>(shard.count); }

std::vector<GroupShape> ShapesOf(const Plan& plan, const Timeline& timeline) {
  std::vector<GroupShape> shapes(plan.groups.size());
  double forward = 0;
  for (std::size_t n = shapes.size(); n-- > 0;) {
    const PlanGroup& group = plan.groups[n];
    shapes[n].forward_start_us = forward;
    for (int i = group.first_layer; i <= group.last_layer; ++i) {
      forward += timeline.layers[static_cast<std::size_t>(i)].forward_us;
    }
    shapes[n].ready_us =
        RunReadyUs(timeline, {.first_layer = group.first_layer, .last_layer = group.last_layer, .bytes = group.bytes});
  }
  std::size_t shard = 0;
  for (std::size_t n = 0; n < shapes.size(); ++n) {
    shapes[n].shard_begin = shard;
    while (shard < plan.shards.size() && plan.shards[shard].group == static_cast<int>(n)) ++shard;
    shapes[n].shard_end = shard;
  }
  return shapes;
}

// The groups of each phase in the order of their windows; index: group index mod T.
std::vector<std::vector<std::size_t>> OrderByWindow(const Plan& plan) {
  const auto period = static_cast<std::size_t>(plan.period);
  std::vector<std::vector<std::size_t>> phases(std::min(period, plan.groups.size()));
  for (std::size_t n = 0; n < plan.groups.size(); ++n) phases[n % period].push_back(n);
  for (std::vector<std::size_t>& members : phases) {
    std::stable_sort(members.begin(), members.end(), [&](std::size_t a, std::size_t b) {
      return plan.groups[a].window_from_us < plan.groups[b].window_from_us;
    });
  }
  return phases;
}

class InterleavedModel {
 public:
  InterleavedModel(const Plan& plan, const Timeline& timeline, const LinkTable& links, Apply apply, bool admission)
      : plan_(plan),
        links_(links),
        apply_(apply),
        latencies_to_grant_(admission ? 2 : 0),
        forward_us_(timeline.forward_us()),
        compute_us_(timeline.compute_us()),
        shapes_(ShapesOf(plan, timeline)),
        phases_(OrderByWindow(plan)),
        done_(plan.groups.size(), 0),
        stall_(plan.groups.size(), 0),
        link_free_(static_cast<std::size_t>(plan.servers), 0),
        link_busy_(static_cast<std::size_t>(plan.servers), 0) {}

  Prediction Run() {
    // A first cycle fills the links; the second is measured. Short periods take several rounds to settle.
    const std::int64_t cycle = plan_.period;
    const std::int64_t warm = cycle * std::max<std::int64_t>(1, 4 / cycle);
    for (std::int64_t t = 1; t <= warm; ++t) Iterate(t);
    const double begin = start_;
    std::fill(link_busy_.begin(), link_busy_.end(), 0);
    std::fill(stall_.begin(), stall_.end(), 0);
    for (std::int64_t t = warm + 1; t <= warm + cycle; ++t) Iterate(t);

    Prediction out;
    const double elapsed = std::max(start_ - begin, WorkerBusy());
    out.iteration_us = std::max(compute_us_, elapsed / static_cast<double>(cycle));
    if (elapsed > 0) {
      out.link_use = std::min(1.0, *std::max_element(link_busy_.begin(), link_busy_.end()) / elapsed);
    }
    out.group_stall_us = std::move(stall_);
    return out;
  }

 private:
  const std::vector<std::size_t>* PhaseAt(std::int64_t t) const {
    const std::int64_t now = t % plan_.period;
    const std::int64_t residue = plan_.phase == PhaseRule::kFormula ? now : (plan_.period - now) % plan_.period;
    return residue < static_cast<std::int64_t>(phases_.size()) ? &phases_[static_cast<std::size_t>(residue)] : nullptr;
  }

  // From the start of an iteration to when it needs what the one before pulled for group n.
  double NeededUs(std::size_t n) const {
    return apply_ == Apply::kDeadline ? shapes_[n].forward_start_us : forward_us_ + shapes_[n].ready_us;
  }

  // Waits for what the iteration before pulled; returns the stall.
  double Wait(std::int64_t t) {
    double stall = 0;
    const std::vector<std::size_t>* before = t > 1 ? PhaseAt(t - 1) : nullptr;
    if (before == nullptr) return 0;
    waiting_ = *before;
    std::sort(waiting_.begin(), waiting_.end());
    if (apply_ == Apply::kDeadline) std::reverse(waiting_.begin(), waiting_.end());
    for (const std::size_t n : waiting_) {
      const double late = done_[n] - (start_ + stall + NeededUs(n));
      if (late <= 0) continue;
      stall += late;
      stall_[n] = std::max(stall_[n], late);
    }
    return stall;
  }

  void Iterate(std::int64_t t) {
    const double stall = Wait(t);
    if (const std::vector<std::size_t>* members = PhaseAt(t)) {
      for (const std::size_t n : *members) Transfer(n);
    }
    start_ += compute_us_ + stall;
  }

  void Transfer(std::size_t n) {
    const PlanGroup& group = plan_.groups[n];
    const double committed = done_[n];
    for (int slot = 0; slot < plan_.workers; ++slot) {
      // A worker that waits for a group does not wait for its slot too.
      const double needed = start_ + compute_us_ + NeededUs(n);
      const double planned = std::min(needed, start_ + forward_us_ + group.window_from_us + slot * group.slot_us);
      for (std::size_t i = shapes_[n].shard_begin; i < shapes_[n].shard_end; ++i) {
        const Shard& shard = plan_.shards[i];
        const auto server = static_cast<std::size_t>(shard.server);
        const Link& link = links_.at(slot, shard.server);
        const double asked = std::max(planned, committed) + latencies_to_grant_ * link.latency_us;
        const double begin = std::max(asked, link_free_[server]);
        const double end = begin + link.latency_us + link.us_per_byte * BytesOf(shard);
        link_free_[server] = end;
        link_busy_[server] += end - begin;
        done_[n] = std::max(done_[n], end);
      }
    }
  }

  // A worker's own link is the limit only where servers outnumber workers.
  double WorkerBusy() const {
    double busy = 0;
    for (const Shard& shard : plan_.shards) {
      busy += links_.worst().latency_us + links_.worst().us_per_byte * BytesOf(shard);
    }
    return plan_.servers > plan_.workers ? busy : 0;
  }

  const Plan& plan_;
  const LinkTable& links_;
  const Apply apply_;
  const double latencies_to_grant_;
  const double forward_us_;
  const double compute_us_;
  const std::vector<GroupShape> shapes_;
  const std::vector<std::vector<std::size_t>> phases_;
  double start_ = 0;               // of the iteration, on all workers
  std::vector<double> done_;       // by group: the worst worker has its last pull
  std::vector<double> stall_;      // by group: the largest so far
  std::vector<double> link_free_;  // by server
  std::vector<double> link_busy_;  // by server
  std::vector<std::size_t> waiting_;
};

struct PortTransfer {
  std::size_t group = 0;
  double begin_us = 0;
  double cost_us = 0;  // when nothing else moves
};

// When each of the transfers through one port ends; they share it evenly. In the time that a transfer gets, those under
// way end in the order of what they had left.
void SharePort(std::vector<PortTransfer>* transfers, std::vector<double>* end_us) {
  std::stable_sort(transfers->begin(), transfers->end(),
                   [](const PortTransfer& a, const PortTransfer& b) { return a.begin_us < b.begin_us; });
  using Left = std::pair<double, std::size_t>;  // `got` at the end, place in transfers
  std::priority_queue<Left, std::vector<Left>, std::greater<>> moving;
  double now = 0;
  double got = 0;  // of time alone, by each of those that move
  const auto advance = [&](double until) {
    while (!moving.empty()) {
      const double first = now + (moving.top().first - got) * static_cast<double>(moving.size());
      if (first > until) {
        got += (until - now) / static_cast<double>(moving.size());
        break;
      }
      now = first;
      got = moving.top().first;
      (*end_us)[moving.top().second] = now;
      moving.pop();
    }
    now = until;
  };
  for (std::size_t i = 0; i < transfers->size(); ++i) {
    advance((*transfers)[i].begin_us);
    moving.emplace(got + (*transfers)[i].cost_us, i);
  }
  advance(std::numeric_limits<double>::max());
}

Prediction PredictSynchronous(const Plan& plan, const Timeline& timeline, const LinkTable& links) {
  const std::vector<GroupShape> shapes = ShapesOf(plan, timeline);
  const Link& link = links.worst();
  std::vector<std::vector<PortTransfer>> ports(static_cast<std::size_t>(plan.servers));
  std::vector<double> busy(ports.size(), 0);
  for (const Shard& shard : plan.shards) {
    const auto group = static_cast<std::size_t>(shard.group);
    const auto server = static_cast<std::size_t>(shard.server);
    const double bytes = std::max(plan.workers * BytesOf(shard), static_cast<double>(plan.groups[group].bytes));
    const double cost = link.us_per_byte * bytes;
    ports[server].push_back({group, shapes[group].ready_us + link.latency_us, cost});
    busy[server] += link.latency_us + cost;
  }
  std::vector<double> done(shapes.size(), 0);
  for (std::vector<PortTransfer>& port : ports) {
    std::vector<double> end_us(port.size(), 0);
    SharePort(&port, &end_us);
    for (std::size_t i = 0; i < port.size(); ++i) port[i].begin_us = end_us[i] + link.latency_us;
    std::vector<PortTransfer> replies = port;
    SharePort(&replies, &end_us);
    for (std::size_t i = 0; i < port.size(); ++i) {
      done[replies[i].group] = std::max(done[replies[i].group], end_us[i]);
    }
  }
  Prediction out;
  out.group_stall_us.assign(shapes.size(), 0);
  double stall = 0;
  for (std::size_t n = shapes.size(); n-- > 0;) {
    const double late = done[n] - (timeline.end_us + timeline.optimizer_us + stall + shapes[n].forward_start_us);
    if (late <= 0) continue;
    out.group_stall_us[n] = late;
    stall += late;
  }
  out.iteration_us = timeline.compute_us() + stall;
  if (out.iteration_us > 0) {
    out.link_use = std::min(1.0, *std::max_element(busy.begin(), busy.end()) / out.iteration_us);
  }
  out.group_done_us = std::move(done);
  return out;
}

}  // namespace

Prediction Predict(const Plan& plan, const Timeline& timeline, const LinkTable& links, Apply apply, bool admission) {
  if (plan.workers == 1) {
    Prediction alone;
    alone.iteration_us = timeline.compute_us();
    alone.group_stall_us.assign(plan.groups.size(), 0);
    alone.group_done_us.assign(plan.groups.size(), timeline.end_us);
    return alone;
  }
  if (plan.strategy == StrategyType::kInterleavedPS)
    return InterleavedModel(plan, timeline, links, apply, admission).Run();
  return PredictSynchronous(plan, timeline, links);
}

}  // namespace weft
