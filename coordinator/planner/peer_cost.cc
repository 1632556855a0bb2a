#include "coordinator/planner/peer_cost.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "coordinator/planner/buckets.h"
#include "coordinator/planner/fusion.h"
#include "coordinator/planner/peer_traffic.h"
#include "coordinator/planner/processor.h"

namespace weft {
namespace {

class PeerModel {
 public:
  PeerModel(const PlanRequest& request, const PeerLinks& links, Plan* plan)
      : timeline_(request.timeline),
        request_(request),
        link_(links.worst()),
        plan_(plan),
        compute_us_(plan->compute_us) {}

  void Run() {
    if (ExchangesBuckets(plan_->strategy, request_)) return Buckets();
    switch (plan_->strategy) {
      case StrategyType::kDPSGD:
        return CombineThenAdapt();
      case StrategyType::kSGP:
        return SGP();
      default:
        return Asynchronous();
    }
  }

 private:
  double bytes() const { return static_cast<double>(plan_->groups[0].bytes); }
  double step_end_us() const { return timeline_.end_us + timeline_.optimizer_us; }

  // Exchanges end before the next backward begins, so one iteration has it all.
  void Buckets() {
    const std::vector<Bucket> shapes = BucketsOf(*plan_, request_, link_);
    double done = 0;
    double busy = 0;
    for (std::size_t n = 0; n < shapes.size(); ++n) {
      PlanGroup& group = plan_->groups[n];
      group.window_from_us = shapes[n].ready_us;
      group.transfer_us = shapes[n].exchange_us;
      group.window_to_us = done = std::max(done, shapes[n].ready_us) + shapes[n].exchange_us;
      busy += shapes[n].exchange_us;
    }
    const bool steps_in_backward = plan_->strategy != StrategyType::kAllReduce;
    double now = std::max(timeline_.end_us + (steps_in_backward ? timeline_.optimizer_us : 0), shapes.back().ready_us);
    for (std::size_t n = shapes.size(); n-- > 0;) {
      PlanGroup& group = plan_->groups[n];
      group.stall_us = std::max(0.0, group.window_to_us - now);
      now += group.stall_us + shapes[n].settle_us + shapes[n].forward_us;
    }
    Set((now - compute_us_) / plan_->period, busy / plan_->period);
  }

  void CombineThenAdapt() {
    const double cost = link_.latency_us + link_.us_per_byte * bytes() * DegreesOf(plan_->strategy, request_).most;
    const double stall = std::max(0.0, cost - compute_us_) + ProcessorCostUs(*plan_, request_);
    SetGroup(-timeline_.forward_us(), cost, stall);
    Set(stall, cost);
  }

  void SGP() {
    const double moving = link_.us_per_byte * bytes();
    const double cost = link_.latency_us + moving * PushesMet(request_);
    const int overlap = request_.peers.overlap;
    double stall = cost;
    if (overlap > 0) {
      stall = std::max({0.0, moving - compute_us_, (compute_us_ + cost) / (overlap + 1) - compute_us_});
    }
    stall += ProcessorCostUs(*plan_, request_);
    SetGroup(step_end_us(), cost, stall);
    Set(stall, cost);
  }

  void Asynchronous() {
    const double period = plan_->period;
    const double outside = ProcessorCostUs(*plan_, request_);
    const double cost = ExchangeUs();
    SetGroup(-timeline_.forward_us(), cost, outside);
    const double iteration = compute_us_ + outside / period;
    const double kept = KeptShare(cost / (period * iteration));
    const double busy = link_.us_per_byte * plan_->wire_bytes * period;  // of one direction of the port
    plan_->wire_bytes *= kept;
    Set(outside / period, kept * busy / period);
  }

  // One exchange of an asynchronous strategy when nothing else moves.
  double ExchangeUs() const {
    if (plan_->strategy == StrategyType::kADPSGD) return 2 * (link_.latency_us + link_.us_per_byte * bytes());
    const double wire = TrafficOf(plan_->strategy, request_, plan_->groups[0].bytes).sent_bytes;
    return 2 * kSwarmRoundTrips * link_.latency_us + link_.us_per_byte * wire;
  }

  // The share k of the exchanges that are made, when one by itself takes x times the iterations that it has. With three
  // workers or more, partners meet at a port that is busy for a share x k of the time, and take as much longer; one
  // that ends too late skips half an interval more in the mean: k = 1 / (x (1 + x k) + 1/2), at most 1.
  double KeptShare(double x) const {
    if (plan_->workers == 2) return 1 / std::max(1.0, std::ceil(x));
    const double b = x + 0.5;
    return std::min(1.0, (std::sqrt(b * b + 4 * x * x) - b) / std::max(1e-12, 2 * x * x));
  }

  void SetGroup(double from_us, double transfer_us, double stall_us) {
    PlanGroup& group = plan_->groups[0];
    group.window_from_us = from_us;
    group.window_to_us = from_us + transfer_us;
    group.transfer_us = transfer_us;
    group.stall_us = stall_us;
  }

  // Both are the mean of an iteration.
  void Set(double stall_us, double busy_us) {
    plan_->iteration_us = compute_us_ + stall_us;
    plan_->link_use = std::min(1.0, busy_us / plan_->iteration_us);
  }

  const Timeline& timeline_;
  const PlanRequest& request_;
  const Link& link_;
  Plan* const plan_;
  const double compute_us_;
};

}  // namespace

void PredictPeers(const PlanRequest& request, const PeerLinks& links, Plan* plan) {
  if (plan->workers > 1) return PeerModel(request, links, plan).Run();
  plan->iteration_us = plan->compute_us;
  for (PlanGroup& group : plan->groups) {
    group.window_from_us = RunReadyUs(request.timeline, {group.first_layer, group.last_layer, group.bytes});
    group.window_to_us = std::max(group.window_from_us, request.timeline.end_us);
  }
}

}  // namespace weft
