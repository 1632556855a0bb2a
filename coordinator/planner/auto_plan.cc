#include "coordinator/planner/auto_plan.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "coordinator/planner/peer_plan.h"
#include "coordinator/planner/reason.h"
#include "coordinator/planner/server_plan.h"

namespace weft {
namespace {

// Of equally stale plans within a near tie the one whose averages are exact, then the one whose graph mixes best.
constexpr StrategyType kPreference[] = {
    StrategyType::kAllReduce, StrategyType::kMergedPS, StrategyType::kLocalSGD, StrategyType::kInterleavedPS,
    StrategyType::kSwarm,     StrategyType::kDPSGD,    StrategyType::kSGP};

class Chooser {
 public:
  explicit Chooser(const PlanRequest& request) : request_(request) {}

  Status AddAll() {
    const bool servers = request_.servers > 0 && !request_.links.empty();
    const bool peers = !request_.peer_links.empty() || request_.workers == 1;
    if (!servers && !peers) return InvalidArgumentError("links: Auto has neither those to servers nor those of peers");
    for (const StrategyType strategy : kPreference) {
      if (UsesParameterServers(strategy) ? !servers : !peers) continue;
      PlanRequest request = request_;
      request.options.most_period = std::min(request.options.most_period, request.max_staleness);
      if (strategy != StrategyType::kLocalSGD && strategy != StrategyType::kSwarm) {
        WEFT_RETURN_IF_ERROR(Add(strategy, request));
        continue;
      }
      // LocalSGD with H = 1 is AllReduce with a ring that starts later.
      for (int steps = strategy == StrategyType::kLocalSGD ? 2 : 1; steps <= request_.max_staleness; steps *= 2) {
        request.peers.local_steps = steps;
        WEFT_RETURN_IF_ERROR(Add(strategy, request));
      }
    }
    return OkStatus();
  }

  Result<Plan> Choose() {
    if (plans_.empty()) return InvalidArgumentError("period: that of InterleavedPS is above the staleness allowed");
    Candidate* best = Best(nullptr);
    const bool fastest = std::none_of(plans_.begin(), plans_.end(), [&](const Candidate& other) {
      return other.plan.iteration_us < best->plan.iteration_us;
    });
    const Candidate* second = Best(best);
    best->plan.reason = AutoReason(best->plan, fastest, second == nullptr ? nullptr : &second->plan);
    return std::move(best->plan);
  }

 private:
  struct Candidate {
    Plan plan;
    double staleness = 0;
    std::ptrdiff_t rank = 0;  // in kPreference
  };

  Status Add(StrategyType strategy, const PlanRequest& request) {
    WEFT_ASSIGN_OR_RETURN(Plan plan, UsesParameterServers(strategy) ? MakeServerPlan(request, strategy)
                                                                    : MakePeerPlan(request, strategy));
    const double staleness = Staleness(plan, request);
    if (staleness > request.max_staleness) return OkStatus();
    const auto* place = std::find(std::begin(kPreference), std::end(kPreference), strategy);
    plans_.push_back({std::move(plan), staleness, place - std::begin(kPreference)});
    return OkStatus();
  }

  // The least stale of those that are nearly the fastest; with `other`, among those of other strategies than its.
  Candidate* Best(const Candidate* other) {
    const auto counts = [&](const Candidate& each) {
      return other == nullptr || each.plan.strategy != other->plan.strategy;
    };
    double shortest = 0;
    for (const Candidate& each : plans_) {
      if (counts(each) && (shortest == 0 || each.plan.iteration_us < shortest)) shortest = each.plan.iteration_us;
    }
    Candidate* best = nullptr;
    for (Candidate& each : plans_) {
      if (!counts(each) || each.plan.iteration_us > shortest * (1 + kNearTie)) continue;
      if (best == nullptr || std::pair(each.staleness, each.rank) < std::pair(best->staleness, best->rank)) {
        best = &each;
      }
    }
    return best;
  }

  const PlanRequest& request_;
  std::vector<Candidate> plans_;
};

}  // namespace

double Staleness(const Plan& plan, const PlanRequest& request) {
  if (plan.workers == 1) return 0;
  switch (plan.strategy) {
    case StrategyType::kInterleavedPS:
    case StrategyType::kLocalSGD:
      return plan.period;
    case StrategyType::kSwarm: {
      const bool averages = plan.groups[0].transfer_us <= request.peers.exchange_timeout_us;
      return averages ? plan.period : std::numeric_limits<double>::infinity();
    }
    case StrategyType::kDPSGD:
    case StrategyType::kADPSGD:
      return 1;
    case StrategyType::kSGP:
      return std::max(1, request.peers.overlap);
    default:
      return 0;
  }
}

Result<Plan> MakeAutoPlan(const PlanRequest& request) {
  Chooser chooser(request);
  WEFT_RETURN_IF_ERROR(chooser.AddAll());
  return chooser.Choose();
}

}  // namespace weft
