#include "coordinator/planner/ring_simulator.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "coordinator/planner/flows.h"
#include "coordinator/planner/pace.h"
#include "coordinator/planner/peer_traffic.h"
#include "coordinator/planner/ring.h"

namespace weft {
namespace {

constexpr double kPeakWindowSeconds = 0.01;

std::size_t Size(int value) { return static_cast<std::size_t>(value); }

// Every worker's iteration waits for what the rings of the one before brought, so all workers can be played one
// iteration at a time.
class RingSimulation {
 public:
  RingSimulation(const Plan& plan, const PlanRequest& request, const PeerLinks& links, const SimulationOptions& options)
      : plan_(plan),
        request_(request),
        groups_(RingGroupsOf(plan, request.timeline, links.worst())),
        port_rate_(RateOf(links.worst())),
        backward_us_(request.timeline.end_us),
        step_us_(plan.strategy == StrategyType::kLocalSGD || plan.workers == 1 ? request.timeline.optimizer_us : 0),
        measured_(IterationsToMeasure(plan.period, options.iterations,
                                      static_cast<double>(plan.groups.size()) * plan.workers)),
        warm_(IterationsToSettle(plan.period, measured_, options.slowdown)),
        pace_(options),
        starts_(Size(plan.workers), 0),
        ready_(groups_.size(), 0),
        done_(groups_.size(), 0),
        group_stall_us_(groups_.size(), 0) {}

  SimulationResult Run() {
    std::vector<double> from;
    for (int t = 1; t <= warm_ + measured_; ++t) {
      if (t == warm_ + 1) from = starts_;
      measuring_ = t > warm_;
      Iterate(t);
    }
    return Summary(from);
  }

 private:
  void Iterate(int t) {
    std::fill(ready_.begin(), ready_.end(), 0);
    for (int w = 0; w < plan_.workers; ++w) Compute(w);
    pending_ = plan_.workers > 1 && t % plan_.period == 0;
    if (!pending_) return;
    for (std::size_t n = 0; n < groups_.size(); ++n) {
      const double begin = std::max(ready_[n], n > 0 ? done_[n - 1] : 0);
      done_[n] = begin + groups_[n].sum_us;
      if (measuring_) busy_us_ += groups_[n].sum_us;
    }
  }

  // One worker's iteration: forward with its waits, then backward.
  void Compute(int w) {
    const double factor = pace_.Next(w);
    double now = starts_[Size(w)];
    for (std::size_t n = groups_.size(); n-- > 0;) {
      if (pending_) {
        const double wait = std::max(0.0, done_[n] - now);
        now += wait;
        if (measuring_) {
          stall_us_ += wait;
          group_stall_us_[n] = std::max(group_stall_us_[n], wait);
        }
      }
      if (pending_) now += groups_[n].settle_us * factor;
      now += groups_[n].forward_us * factor;
    }
    for (std::size_t n = 0; n < groups_.size(); ++n) {
      ready_[n] = std::max(ready_[n], now + groups_[n].ready_us * factor);
    }
    starts_[Size(w)] = now + std::max(backward_us_ + step_us_, plan_.workers > 1 ? groups_.back().ready_us : 0) * factor;
  }

  SimulationResult Summary(const std::vector<double>& from) const {
    SimulationResult out;
    out.compute_us = request_.timeline.compute_us();
    double elapsed = 0;
    for (std::size_t w = 0; w < starts_.size(); ++w) elapsed += (starts_[w] - from[w]) / plan_.workers;
    out.iteration_us = elapsed / measured_;
    out.stall_us = stall_us_ / measured_ / plan_.workers;
    out.group_stall_us = group_stall_us_;
    out.link_use = std::min(1.0, busy_us_ / elapsed);
    double bytes = 0;
    for (const PlanGroup& group : plan_.groups) bytes += TrafficOf(plan_.strategy, request_, group.bytes).sent_bytes;
    out.sent_bytes.assign(Size(plan_.workers), bytes / plan_.period);
    out.sent_bytes.resize(Size(plan_.workers + plan_.servers), 0);
    out.bytes_per_iteration = plan_.workers * bytes / plan_.period;
    // The rings of an iteration follow one another at the link's rate, however many windows they fill.
    out.peak_bytes_per_second = std::min(port_rate_ * 1e6, bytes / kPeakWindowSeconds);
    return out;
  }

  const Plan& plan_;
  const PlanRequest& request_;
  const std::vector<RingGroup> groups_;
  const double port_rate_;
  const double backward_us_;
  const double step_us_;  // behind backward
  const int measured_;
  const int warm_;
  Pace pace_;
  std::vector<double> starts_;  // by worker: of its iteration
  std::vector<double> ready_;   // by group: on the last worker
  std::vector<double> done_;    // by group: its ring ends
  bool pending_ = false;        // the iteration before has left sums to wait for
  bool measuring_ = false;
  std::vector<double> group_stall_us_;
  double stall_us_ = 0;  // of all workers together
  double busy_us_ = 0;
};

}  // namespace

SimulationResult SimulateRing(const Plan& plan, const PlanRequest& request, const PeerLinks& links,
                              const SimulationOptions& options) {
  return RingSimulation(plan, request, links, options).Run();
}

}  // namespace weft
