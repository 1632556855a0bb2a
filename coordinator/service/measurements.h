// What the ranks measured, on its way to the planner: one timeline and one set of iteration times a worker, one set of
// ping-pongs a pair.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "common/plan/plan.h"
#include "common/status.h"
#include "coordinator/planner/links.h"
#include "proto/coordinator.pb.h"

namespace weft {

// Not thread-safe.
class Measurements {
 public:
  Measurements(int workers, int servers) : workers_(workers), servers_(servers) {}

  // INVALID_ARGUMENT: a timeline that does not parse, or has other layers than the first one.
  Status AddProfile(int worker, const v1::ProfileResult& profile);
  // INVALID_ARGUMENT: samples that no line can be fitted to.
  Status AddLink(int worker, const v1::LinkResult& link);

  // Per layer the slowest worker's times: an iteration waits for it. Needs a profile.
  Timeline SlowestTimeline() const;
  // [worker][server], every pair; empty where they were not measured.
  std::vector<std::vector<Link>> ServerLinks() const;
  // By worker, to the next one; of two workers one for both. Empty where they were not measured.
  std::vector<Link> PeerLinks() const;
  // Iterations of compute alone, of all workers.
  const std::vector<double>& compute_seconds() const { return compute_seconds_; }

 private:
  const int workers_;
  const int servers_;
  std::map<int, Timeline> timelines_;
  std::map<std::pair<int, int>, Link> links_;  // worker, its peer's rank
  std::vector<double> compute_seconds_;
};

}  // namespace weft
