#include "coordinator/service/recommendation.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "coordinator/planner/planner.h"
#include "coordinator/service/job_rules.h"

namespace weft {
namespace {

constexpr std::size_t kManyLayers = 1000;

void Slower(const Link& link, Link* slowest) {
  slowest->latency_us = std::max(slowest->latency_us, link.latency_us);
  slowest->us_per_byte = std::max(slowest->us_per_byte, link.us_per_byte);
}

Result<double> PredictedIterationUs(const JobSpec& job, const Timeline& timeline, const Link& to_server,
                                    const Link& to_peer) {
  WEFT_ASSIGN_OR_RETURN(PlanRequest request, SettingsOf(job));
  request.timeline = timeline;
  request.links = {{to_server}};
  request.peer_links = {to_peer};
  WEFT_ASSIGN_OR_RETURN(const Plan plan, MakePlan(request));
  return plan.iteration_us;
}

}  // namespace

Result<int> RecommendedWorkers(JobSpec job, StrategyType strategy, const Measurements& measurements) {
  Link to_server;
  Link to_peer;
  const std::vector<std::vector<Link>> links = measurements.ServerLinks();
  const std::vector<Link> peer_links = measurements.PeerLinks();
  if (links.empty() && peer_links.empty()) return InvalidArgumentError("no link was measured");
  for (const std::vector<Link>& worker : links) {
    for (const Link& link : worker) Slower(link, &to_server);
  }
  for (const Link& link : peer_links) Slower(link, &to_peer);
  const Timeline timeline = measurements.SlowestTimeline();
  job.strategy.type = strategy;

  // The planner chooses a period for 10,000 layers in a second.
  const int steps = timeline.layers.size() > kManyLayers ? 1 : 4;
  int recommended = 1;
  double work = 1;  // S(recommended)
  for (int workers = 2; workers <= kMostRecommendedWorkers; workers += std::max(1, workers / steps)) {
    job.worker.replicas = workers;
    const Result<double> iteration_us = PredictedIterationUs(job, timeline, to_server, to_peer);
    if (!iteration_us.ok()) continue;  // such a topology does not exist
    const double this_work = workers * timeline.compute_us() / *iteration_us;
    if (this_work - work < (workers - recommended) / 2.0) continue;
    recommended = workers;
    work = this_work;
  }
  return recommended;
}

}  // namespace weft
