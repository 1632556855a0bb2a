#include "coordinator/planner/server_plan.h"

#include <algorithm>
#include <utility>

#include "coordinator/planner/cost_model.h"
#include "coordinator/planner/fusion.h"
#include "coordinator/planner/reason.h"
#include "coordinator/planner/shards.h"
#include "coordinator/planner/slots.h"

namespace weft {
namespace {

// Balanced runs tried per period: this many groups a phase.
constexpr int kGroupsPerPhase[] = {1, 2, 4, 8};
// A plan is worth more groups only when they gain more than this share of compute.
constexpr double kWorthwhile = 0.001;

// One plan for one partition and period, without names and reason.
class Builder {
 public:
  Builder(const PlanRequest& request, StrategyType strategy, const LinkTable& links)
      : request_(request), strategy_(strategy), links_(links) {
    const double sharing = std::max(1.0, static_cast<double>(request.workers) / request.servers);
    busiest_ = {.latency_us = links.worst().latency_us, .us_per_byte = links.worst().us_per_byte * sharing};
  }

  // What a transfer costs on the busiest link when all workers send it.
  const Link& busiest() const { return busiest_; }

  Plan Build(const std::vector<LayerRun>& runs, Fusion fusion, int period) const {
    Plan plan;
    plan.strategy = strategy_;
    plan.workers = request_.workers;
    plan.servers = request_.servers;
    plan.period = period;
    plan.fusion = fusion;
    plan.phase = request_.options.phase;
    plan.window = request_.options.window;
    plan.tail = request_.options.tail;
    plan.forward_us = request_.timeline.forward_us();
    plan.compute_us = request_.timeline.compute_us();
    plan.shards = SpreadShards(request_.timeline, runs, period, request_.servers, busiest_);
    plan.groups.resize(runs.size());
    for (std::size_t n = 0; n < runs.size(); ++n) {
      PlanGroup& group = plan.groups[n];
      group.index = static_cast<int>(n);
      group.phase = GroupPhase(plan, group.index);
      group.first_layer = runs[n].first_layer;
      group.last_layer = runs[n].last_layer;
      group.bytes = runs[n].bytes;
      group.transfer_us = TransferUs(static_cast<double>(group.bytes));
    }
    if (strategy_ == StrategyType::kInterleavedPS) {
      SetWindows(runs, &plan);
    } else {
      for (std::size_t n = 0; n < runs.size(); ++n) {
        plan.groups[n].window_from_us = RunReadyUs(request_.timeline, runs[n]);
      }
    }
    const Prediction prediction =
        Predict(plan, request_.timeline, links_, request_.options.apply, request_.options.admission);
    plan.iteration_us = prediction.iteration_us;
    plan.link_use = prediction.link_use;
    if (plan.workers > 1) {
      for (const Shard& shard : plan.shards) plan.wire_bytes += 4.0 * static_cast<double>(shard.count) / period;
    }
    for (std::size_t n = 0; n < runs.size(); ++n) {
      PlanGroup& group = plan.groups[n];
      group.stall_us = prediction.group_stall_us[n];
      if (strategy_ != StrategyType::kInterleavedPS) group.window_to_us = prediction.group_done_us[n];
    }
    return plan;
  }

 private:
  double TransferUs(double bytes) const { return links_.worst().latency_us + links_.worst().us_per_byte * bytes; }

  void SetWindows(const std::vector<LayerRun>& runs, Plan* plan) const {
    const Timeline& timeline = request_.timeline;
    std::vector<Window> windows;
    if (plan->window == WindowRule::kAfterBackward) {
      std::vector<double> starts(runs.size());
      std::vector<double> forward(runs.size(), 0);
      for (std::size_t n = 0; n < runs.size(); ++n) {
        starts[n] = timeline.layers[static_cast<std::size_t>(runs[n].last_layer)].backward_start_us;
        for (int i = runs[n].first_layer; i <= runs[n].last_layer; ++i) {
          forward[n] += timeline.layers[static_cast<std::size_t>(i)].forward_us;
        }
      }
      windows = WindowsAfterBackward(starts, forward, timeline.end_us, plan->period, plan->workers, plan->tail);
    } else {
      std::vector<std::vector<ShardCost>> costs(runs.size());
      const bool free = TransferUs(1) == 0;
      for (const Shard& shard : plan->shards) {
        const double bytes = 4.0 * static_cast<double>(shard.count);
        costs[static_cast<std::size_t>(shard.group)].push_back(
            {.server = shard.server, .cost_us = free ? bytes : TransferUs(bytes)});
      }
      windows = WindowsOverIteration(costs, plan->period, plan->servers, plan->workers, -timeline.forward_us(),
                                     timeline.compute_us());
    }
    for (std::size_t n = 0; n < runs.size(); ++n) {
      plan->groups[n].window_from_us = windows[n].from_us;
      plan->groups[n].window_to_us = windows[n].to_us;
      plan->groups[n].slot_us = windows[n].slot_us;
    }
  }

  const PlanRequest& request_;
  const StrategyType strategy_;
  const LinkTable& links_;
  Link busiest_;
};

struct Partition {
  Fusion fusion;
  std::vector<LayerRun> runs;
};

// The best plan for this period among `fixed` partitions and, where wanted, balanced ones; the earlier on a near tie.
Plan BestAt(const Builder& builder, const Timeline& timeline, const std::vector<Partition>& fixed, bool balanced,
            int period) {
  std::vector<Partition> partitions = fixed;
  if (balanced) {
    const int most = static_cast<int>(timeline.layers.size());
    for (const int per_phase : kGroupsPerPhase) {
      const int parts = period > most / per_phase ? most : per_phase * period;
      Partition next{Fusion::kBalanced, FuseBalanced(timeline, parts)};
      const bool repeats = std::any_of(partitions.begin(), partitions.end(),
                                       [&](const Partition& other) { return other.runs == next.runs; });
      if (!repeats) partitions.push_back(std::move(next));
    }
  }
  Plan best;
  bool first = true;
  for (const Partition& partition : partitions) {
    Plan plan = builder.Build(partition.runs, partition.fusion, period);
    if (first || plan.iteration_us < best.iteration_us - kWorthwhile * plan.compute_us) best = std::move(plan);
    first = false;
  }
  return best;
}

bool WithinLimits(const Plan& plan) {
  return plan.iteration_us - plan.compute_us <= kMaxStallShare * plan.compute_us && plan.link_use <= kMaxLinkUse;
}

// The partitions that don't depend on the period. With `open` the planner may choose among them.
std::vector<Partition> FixedPartitions(const Builder& builder, const Timeline& timeline, Fusion fusion, bool open) {
  if (!open) {
    if (fusion == Fusion::kBalanced) return {};
    return {{fusion, Fuse(fusion, timeline, builder.busiest())}};
  }
  std::vector<Partition> partitions;
  for (const Fusion each : {Fusion::kOptimal, Fusion::kMGWFBP, Fusion::kPerLayer}) {
    partitions.push_back({each, Fuse(each, timeline, builder.busiest())});
  }
  return partitions;
}

Plan Choose(const PlanRequest& request, const Builder& builder, StrategyType strategy, PeriodChoice* choice) {
  const Timeline& timeline = request.timeline;
  const PlanOptions& options = request.options;
  *choice = PeriodChoice::kGiven;
  if (strategy != StrategyType::kInterleavedPS) {
    const Fusion fusion = strategy == StrategyType::kBulkSynchronousPS ? Fusion::kPerLayer : options.fusion;
    if (fusion == Fusion::kBalanced) return BestAt(builder, timeline, {}, true, 1);
    return builder.Build(Fuse(fusion, timeline, builder.busiest()), fusion, 1);
  }
  const bool open = options.fusion == Fusion::kOptimal && !options.exact_fusion;
  const bool balanced = open || options.fusion == Fusion::kBalanced;
  const std::vector<Partition> fixed = FixedPartitions(builder, timeline, options.fusion, open);
  if (options.period > 0) return BestAt(builder, timeline, fixed, balanced, options.period);

  Plan best;
  for (int period = 1; period <= options.most_period; ++period) {
    Plan plan = BestAt(builder, timeline, fixed, balanced, period);
    if (WithinLimits(plan)) {
      *choice = PeriodChoice::kSmallest;
      return plan;
    }
    if (period == 1 || plan.iteration_us < best.iteration_us - kWorthwhile * plan.compute_us) best = std::move(plan);
  }
  *choice = PeriodChoice::kBest;
  return best;
}

}  // namespace

Result<Plan> MakeServerPlan(const PlanRequest& request, StrategyType strategy) {
  WEFT_ASSIGN_OR_RETURN(const LinkTable links, LinkTable::Make(request.links, request.workers, request.servers));
  const Builder builder(request, strategy, links);
  PeriodChoice choice{};
  Plan plan = Choose(request, builder, strategy, &choice);
  plan.reason = Reason(plan, choice, request.options.most_period);
  return plan;
}

}  // namespace weft
