// Holds a run against its plan: when a link or computing has drifted from what the plan was made for, and stays so, a
// plan for what is measured now takes its place, if that is worth it. Pure. docs/design/planner.md, "Planning again".
//
// Measured against planned, as the ratio r of the two (drift is r - 1), smoothed over kSmoothing iterations:
//   a link      InterleavedPS: per worker and server, time from grant to end over latency + bytes * inverse bandwidth.
//               MergedPS, BulkSynchronousPS, AllReduce: all links together, a group's time from start to end over what
//               the plan says, of the worker that came last, so that no waiting for others is in it.
//               The lower quartile: a busy processor lengthens some transfers, a slower link all of them.
//               Never faster than before training, when long messages were measured, and by transfers of kTellingBytes
//               at least: a short one with a pause behind it fits into buffers and into the burst that a shaped link
//               lets through, whatever the link carries.
//   computing   of the slowest worker, the median of iteration less stall over the plan's.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/plan/plan.h"
#include "common/status.h"
#include "coordinator/planner/planner.h"

namespace weft {

inline constexpr double kDriftThreshold = 0.20;
inline constexpr int kDriftIterations = 50;      // in a row over the threshold
inline constexpr int kChangeCooldown = 50;       // iterations behind a change that count for nothing
inline constexpr double kWorthwhileGain = 0.03;  // of an iteration's time
inline constexpr double kTellingBytes = 1 << 20;

struct MeasuredTransfer {
  int group = 0;
  int server = 0;
  double bytes = 0;  // in the direction that carries more
  double us = 0;     // from the grant, or the start where there is none, to the end
};

// One worker's.
struct MeasuredIteration {
  int worker = 0;
  std::int64_t iteration = 0;
  double iteration_us = 0;
  double stall_us = 0;
  std::vector<MeasuredTransfer> transfers;
};

// What came of looking for another plan.
struct PlanProposal {
  std::optional<Plan> plan;  // none: keeping the old one costs little
  // "the link to server 0 is 2.1 times slower than planned: T 4 -> 8"; without a plan, why not.
  std::string cause;
};

// Not thread-safe.
class DriftMonitor {
 public:
  // `request` is what `plan` was made for; its strategy is InterleavedPS, MergedPS, BulkSynchronousPS or AllReduce.
  DriftMonitor(PlanRequest request, Plan plan);

  // Each worker's iterations in their order. Those that the plan does not hold in are left out.
  void Add(const MeasuredIteration& measured);

  // The largest of the drifts, by its size; 0 while too little is measured.
  double drift() const { return drift_; }
  // For kDriftIterations iterations in a row beyond kDriftThreshold, in either direction.
  bool due() const { return over_ >= kDriftIterations; }

  // A plan for what is measured now, if with it an iteration is faster by kWorthwhileGain than with the old one, and
  // than what is measured, or as fast at a clearly shorter period. Errors: as MakePlan and Simulate.
  Result<PlanProposal> Propose();

  // The proposal was declined, the plan stays: what is measured now is what the next drift is held against.
  void Rebase();
  // The last proposal's plan was taken: the next drift is held against what it was made for. What is measured while all
  // change to it is not.
  void Rebase(Plan plan);

 private:
  static constexpr int kSmoothing = 6;

  using Key = std::pair<int, int>;  // worker and server; of all links together {-1, -1}
  struct Sample {
    std::int64_t iteration = 0;
    double ratio = 0;
    double bytes = 0;
  };
  struct Open {  // an iteration that not all workers have told
    std::vector<MeasuredIteration> told;
  };
  struct Ratio {
    double value = 1;
    double bytes = 0;  // mean of the transfers it comes from
  };

  bool by_link() const { return plan_.strategy == StrategyType::kInterleavedPS; }
  Link LinkOf(const Key& key) const;
  double PlannedUs(int worker, const MeasuredTransfer& transfer) const;
  // What no transfer is taken to be faster than; `planned_us` of it as PlannedUs.
  double LeastUs(int worker, const MeasuredTransfer& transfer, double planned_us) const;
  void Close(std::int64_t iteration, const Open& open);
  void AddLinkSamples(std::int64_t iteration, const Open& open);
  void AddSumSamples(std::int64_t iteration, const Open& open);
  std::map<Key, Ratio> LinkRatios() const;
  double ComputeRatio() const;
  PlanRequest Present() const;
  std::string Cause() const;
  void Forget(std::int64_t from_iteration);

  PlanRequest request_;                   // what is planned for, links told pair by pair
  std::vector<std::vector<Link>> links_;  // as measured before training, told so too
  std::optional<PlanRequest> proposed_;   // of the last proposal
  Plan plan_;
  double scale_ = 1;                 // of all links together, since the plan was made
  double slowdown_ = 1;              // of all links together at that time, against before training
  double proposed_slowdown_ = 1;     // of the last proposal
  std::int64_t from_iteration_ = 1;  // the first that counts
  std::map<std::int64_t, Open> open_;
  std::map<Key, std::deque<Sample>> samples_;
  std::map<int, std::deque<double>> compute_us_;  // by worker, of the last kSmoothing iterations
  std::deque<double> iteration_us_;               // the slowest worker's, of the last kDriftIterations
  double drift_ = 0;
  int over_ = 0;
};

}  // namespace weft
