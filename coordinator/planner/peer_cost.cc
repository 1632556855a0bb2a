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

constexpr int kGuesses = 40;
// Of one interaction of Swarm: then another partner is tried.
constexpr int kMostConflicts = 3;

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
      case StrategyType::kADPSGD:
        return ADPSGD();
      default:
        return Swarm();
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

  // Those that draw the same partner share its port, there and back.
  void ADPSGD() {
    const double outside = ProcessorCostUs(*plan_, request_);
    const double passes = (kReadModelPasses + kAveragePasses + kApplyReplyPasses) * kPassUsPerByte * bytes();
    const double fixed = 3 * link_.latency_us + passes;
    const std::vector<double> odds = MeetingOdds(plan_->strategy, request_);
    double mean_us = 0;
    double iteration_us = 0;
    for (std::size_t others = 0; others < odds.size(); ++others) {
      const double averaging = fixed + 2 * link_.us_per_byte * bytes() * static_cast<double>(others + 1);
      mean_us += odds[others] * averaging;
      iteration_us += odds[others] * IterationWaitingFor(averaging);
    }
    iteration_us += outside;
    SetAveraging(mean_us, iteration_us, iteration_us);
  }

  // A partner that has taken the time-out is not drawn before it has ended. So of n iterations in which the port is
  // busy with one averaging one waits: n C + w = averaging, w the wait.
  double IterationWaitingFor(double averaging_us) const {
    const double timeout = request_.peers.exchange_timeout_us;
    if (averaging_us <= timeout) return std::max(compute_us_, averaging_us);
    const double wait = std::max(0.0, timeout - compute_us_);
    return std::max(compute_us_, compute_us_ * averaging_us / (averaging_us - wait));
  }

  // With R the round, an interaction begins at U R, U uniform in [0, kSwarmWindow], and the round ends when it has: R =
  // E max(H C, U R + x). Another delta that comes to either of the two meanwhile makes it begin again, after as long as
  // it has taken: x + 2 (2^k - 1) v the k-th time, v the read. So R is looked for that gives itself.
  void Swarm() {
    const double compute = plan_->period * compute_us_;
    const double timeout = request_.peers.exchange_timeout_us;
    const double degree = DegreesOf(plan_->strategy, request_).mean;
    const SwarmCosts costs = SwarmCostsOf(*plan_);
    const double wire_us = link_.us_per_byte * plan_->wire_bytes * plan_->period;
    const double fixed = 2 * kSwarmRoundTrips * link_.latency_us + costs.decode_us + costs.encode_us + costs.publish_us;
    const double read_us =
        link_.us_per_byte * RegisterReadBytes(FloatsOf(plan_->groups[0].bytes), plan_->quantization_bits) +
        costs.decode_us;
    double round = compute;
    double interaction = 0;
    for (int i = 0; i < kGuesses; ++i) {
      // Others that have drawn the same partner meet at its port.
      interaction = fixed + wire_us * (1 + (1 - 1 / degree) * std::min(1.0, wire_us / round));
      const double again = 1 - std::exp(-(2 - 1 / degree) * interaction / round);
      double next = 0;
      double share = 1;
      for (int k = 0; k <= kMostConflicts; ++k) {
        const double ends = k < kMostConflicts ? 1 - again : 1;
        const double took = interaction + 2 * (std::exp2(k) - 1) * read_us;
        next += share * ends * RoundWaitingFor(std::min(took, timeout), round);
        share *= again;
      }
      round = (round + next) / 2;
    }
    round += ProcessorCostUs(*plan_, request_);
    SetAveraging(interaction, round / plan_->period, round);
  }

  // The next round, where the last one took `round`.
  double RoundWaitingFor(double interaction_us, double round_us) const {
    const double compute = plan_->period * compute_us_;
    const double latest = kSwarmWindow * round_us;
    // The part of the window after which it is waited for.
    const double waits = std::clamp((latest + interaction_us - compute) / latest, 0.0, 1.0);
    return (1 - waits) * compute + waits * (interaction_us + latest * (1 - waits / 2));
  }

  // One averaging in each `round_us`, and fewer where it takes longer than it is waited for.
  void SetAveraging(double averaging_us, double iteration_us, double round_us) {
    plan_->iteration_us = iteration_us;
    SetGroup(-timeline_.forward_us(), averaging_us, (iteration_us - compute_us_) * plan_->period);
    if (averaging_us > request_.peers.exchange_timeout_us) {
      plan_->wire_bytes *= std::min(1.0, round_us / averaging_us);
    }
    plan_->link_use = std::min(1.0, link_.us_per_byte * plan_->wire_bytes / iteration_us);
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
