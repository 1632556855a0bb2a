#include "coordinator/planner/bucket_simulator.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "coordinator/planner/buckets.h"
#include "coordinator/planner/flows.h"
#include "coordinator/planner/pace.h"
#include "coordinator/planner/peer_traffic.h"

namespace weft {
namespace {

constexpr double kPeakWindowSeconds = 0.01;

std::size_t Size(int value) { return static_cast<std::size_t>(value); }

// Every worker's iteration waits for what the exchanges of the one before brought, so all workers can be played one
// iteration at a time.
class BucketSimulation {
 public:
  BucketSimulation(const Plan& plan, const PlanRequest& request, const PeerLinks& links,
                   const SimulationOptions& options)
      : plan_(plan),
        request_(request),
        buckets_(BucketsOf(plan, request, links.worst())),
        port_rate_(RateOf(links.worst())),
        backward_us_(request.timeline.end_us),
        step_us_(plan.strategy != StrategyType::kAllReduce || plan.workers == 1 ? request.timeline.optimizer_us : 0),
        measured_(IterationsToMeasure(plan.period, options.iterations,
                                      static_cast<double>(plan.groups.size()) * plan.workers)),
        warm_(IterationsToSettle(plan.period, measured_, options.slowdown)),
        pace_(options),
        starts_(Size(plan.workers), 0),
        ready_(Size(plan.workers), std::vector<double>(buckets_.size(), 0)),
        done_(ready_),
        group_stall_us_(buckets_.size(), 0) {
    if (plan.strategy == StrategyType::kDPSGD) neighbours_ = NeighboursOf(plan.strategy, request);
  }

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
    for (int w = 0; w < plan_.workers; ++w) Compute(w);
    pending_ = plan_.workers > 1 && t % plan_.period == 0;
    if (!pending_) return;
    for (const Bucket& bucket : buckets_) busy_us_ += measuring_ ? bucket.exchange_us : 0;
    if (neighbours_.empty()) {
      PlayRings();
    } else {
      PlayCopies();
    }
  }

  // A ring begins when all have its bucket and the ring before it has ended.
  void PlayRings() {
    double done = 0;
    for (std::size_t n = 0; n < buckets_.size(); ++n) {
      for (const std::vector<double>& ready : ready_) done = std::max(done, ready[n]);
      done += buckets_[n].exchange_us;
      for (std::vector<double>& each : done_) each[n] = done;
    }
  }

  // A worker's buckets go through its port one after the other, each to all neighbours at once.
  void PlayCopies() {
    for (std::vector<double>& done : done_) std::fill(done.begin(), done.end(), 0);
    for (std::size_t w = 0; w < ready_.size(); ++w) {
      double sent = 0;
      for (std::size_t n = 0; n < buckets_.size(); ++n) {
        sent = std::max(sent, ready_[w][n]) + buckets_[n].exchange_us;
        for (const int to : neighbours_[w]) done_[Size(to)][n] = std::max(done_[Size(to)][n], sent);
      }
    }
  }

  // One worker's iteration: forward with its waits, then backward.
  void Compute(int w) {
    const double factor = pace_.Next(w);
    double now = starts_[Size(w)];
    for (std::size_t n = buckets_.size(); n-- > 0;) {
      if (pending_) {
        const double wait = std::max(0.0, done_[Size(w)][n] - now);
        now += wait;
        if (measuring_) {
          stall_us_ += wait;
          group_stall_us_[n] = std::max(group_stall_us_[n], wait);
        }
      }
      if (pending_) now += buckets_[n].settle_us * factor;
      now += buckets_[n].forward_us * factor;
    }
    for (std::size_t n = 0; n < buckets_.size(); ++n) {
      ready_[Size(w)][n] = now + buckets_[n].ready_us * factor;
    }
    starts_[Size(w)] =
        now + std::max(backward_us_ + step_us_, plan_.workers > 1 ? buckets_.back().ready_us : 0) * factor;
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
    // The exchanges of an iteration follow one another at the link's rate, however many windows they fill.
    out.peak_bytes_per_second = std::min(port_rate_ * 1e6, bytes / kPeakWindowSeconds);
    return out;
  }

  const Plan& plan_;
  const PlanRequest& request_;
  const std::vector<Bucket> buckets_;
  const double port_rate_;
  const double backward_us_;
  const double step_us_;  // behind backward
  const int measured_;
  const int warm_;
  Pace pace_;
  std::vector<double> starts_;                // by worker: of its iteration
  std::vector<std::vector<double>> ready_;    // by worker and group
  std::vector<std::vector<double>> done_;     // by worker and group: all that it waits for is there
  std::vector<std::vector<int>> neighbours_;  // DPSGD; empty: a ring
  bool pending_ = false;                      // the iteration before has left exchanges to wait for
  bool measuring_ = false;
  std::vector<double> group_stall_us_;
  double stall_us_ = 0;  // of all workers together
  double busy_us_ = 0;
};

}  // namespace

SimulationResult SimulateBuckets(const Plan& plan, const PlanRequest& request, const PeerLinks& links,
                                 const SimulationOptions& options) {
  return BucketSimulation(plan, request, links, options).Run();
}

}  // namespace weft
