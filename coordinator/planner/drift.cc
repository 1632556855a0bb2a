#include "coordinator/planner/drift.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/check.h"
#include "coordinator/planner/simulator.h"

namespace weft {
namespace {

// Smaller changes of a link or of computing are not told from noise, and not planned for.
constexpr double kLeastChange = 0.1;
// A period is clearly shorter below this share of the one before.
constexpr double kShorterPeriod = 0.8;
constexpr double kAsFast = 1.02;
// Links whose ratios lie this near to each other have changed together.
constexpr double kTogether = 1.25;

// The value below which `share` of them lie.
double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return 1;
  const auto place = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(place), values.end());
  return values[place];
}

std::string Times(double ratio) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2g times %s than planned", ratio >= 1 ? ratio : 1 / ratio,
                ratio >= 1 ? "slower" : "faster");
  return text;
}

bool IsWorse(double a, double b) { return std::abs(std::log(a)) > std::abs(std::log(b)); }

double Scaled(double us_per_byte, double latency_us, double ratio, double bytes) {
  const double now = ratio * (latency_us + us_per_byte * bytes) - latency_us;
  return bytes > 0 ? std::max(now / bytes, us_per_byte * ratio * 0.1) : us_per_byte;
}

}  // namespace

DriftMonitor::DriftMonitor(PlanRequest request, Plan plan) : request_(std::move(request)), plan_(std::move(plan)) {
  request_.strategy = plan_.strategy;
  if (by_link() && request_.links.size() == 1 && request_.workers * request_.servers > 1) {
    const Link link = request_.links[0][0];
    request_.links.assign(static_cast<std::size_t>(request_.workers),
                          std::vector<Link>(static_cast<std::size_t>(request_.servers), link));
  }
  links_ = request_.links;
  Forget(plan_.from_iteration);
}

void DriftMonitor::Forget(std::int64_t from_iteration) {
  from_iteration_ = from_iteration;
  open_.clear();
  samples_.clear();
  compute_us_.clear();
  iteration_us_.clear();
  drift_ = 0;
  over_ = 0;
}

void DriftMonitor::Rebase() {
  request_ = Present();
  if (!by_link()) {
    for (const auto& [key, ratio] : LinkRatios()) scale_ *= ratio.value;
  }
  plan_.compute_us *= ComputeRatio();
  const std::int64_t next = open_.empty() ? from_iteration_ : open_.rbegin()->first + 1;
  Forget(next + kChangeCooldown);
}

void DriftMonitor::Rebase(Plan plan) {
  WEFT_CHECK(proposed_.has_value());
  request_ = *std::exchange(proposed_, std::nullopt);
  slowdown_ = proposed_slowdown_;
  plan_ = std::move(plan);
  scale_ = 1;
  Forget(plan_.from_iteration + kChangeCooldown);
}

Link DriftMonitor::LinkOf(const Key& key) const {
  return request_.links[static_cast<std::size_t>(key.first)][static_cast<std::size_t>(key.second)];
}

double DriftMonitor::PlannedUs(int worker, const MeasuredTransfer& transfer) const {
  if (by_link()) {
    const Link link = LinkOf({worker, transfer.server});
    return link.latency_us + link.us_per_byte * transfer.bytes;
  }
  const PlanGroup& group = plan_.groups[static_cast<std::size_t>(transfer.group)];
  const double us =
      UsesParameterServers(plan_.strategy) ? group.window_to_us - group.window_from_us : group.transfer_us;
  return us * scale_;
}

double DriftMonitor::LeastUs(int worker, const MeasuredTransfer& transfer, double planned_us) const {
  if (transfer.bytes < kTellingBytes) return planned_us;
  if (!by_link()) return planned_us / (scale_ * slowdown_);
  const Link& link = links_[static_cast<std::size_t>(worker)][static_cast<std::size_t>(transfer.server)];
  return link.latency_us + link.us_per_byte * transfer.bytes;
}

void DriftMonitor::Add(const MeasuredIteration& measured) {
  if (measured.iteration < from_iteration_ || plan_.workers < 2) return;
  Open& open = open_[measured.iteration];
  open.told.push_back(measured);
  // Workers tell their iterations in order, so the first to be complete is the oldest.
  while (!open_.empty() && static_cast<int>(open_.begin()->second.told.size()) == plan_.workers) {
    const auto first = open_.extract(open_.begin());
    Close(first.key(), first.mapped());
  }
}

void DriftMonitor::AddLinkSamples(std::int64_t iteration, const Open& open) {
  for (const MeasuredIteration& told : open.told) {
    for (const MeasuredTransfer& transfer : told.transfers) {
      if (transfer.server < 0 || transfer.server >= request_.servers || transfer.us <= 0) continue;
      const double planned = PlannedUs(told.worker, transfer);
      if (planned <= 0) continue;
      const double us = std::max(transfer.us, LeastUs(told.worker, transfer, planned));
      samples_[{told.worker, transfer.server}].push_back({iteration, us / planned, transfer.bytes});
    }
  }
}

void DriftMonitor::AddSumSamples(std::int64_t iteration, const Open& open) {
  std::map<int, double> shortest;  // by group
  std::map<int, double> bytes;
  for (const MeasuredIteration& told : open.told) {
    std::map<int, double> longest;  // of the worker, by group: of its shards the last
    for (const MeasuredTransfer& transfer : told.transfers) {
      if (transfer.group < 0 || transfer.group >= static_cast<int>(plan_.groups.size())) continue;
      longest[transfer.group] = std::max(longest[transfer.group], transfer.us);
      bytes[transfer.group] = std::max(bytes[transfer.group], transfer.bytes);
    }
    for (const auto& [group, us] : longest) {
      const auto [place, added] = shortest.emplace(group, us);
      if (!added) place->second = std::min(place->second, us);
    }
  }
  for (const auto& [group, us] : shortest) {
    const MeasuredTransfer sum{.group = group, .server = 0, .bytes = bytes[group], .us = us};
    const double planned = PlannedUs(0, sum);
    if (planned <= 0 || us <= 0) continue;
    samples_[{-1, -1}].push_back({iteration, std::max(us, LeastUs(0, sum, planned)) / planned, sum.bytes});
  }
}

void DriftMonitor::Close(std::int64_t iteration, const Open& open) {
  double slowest_us = 0;
  for (const MeasuredIteration& told : open.told) {
    std::deque<double>& compute = compute_us_[told.worker];
    compute.push_back(told.iteration_us - told.stall_us);
    if (compute.size() > kSmoothing) compute.pop_front();
    slowest_us = std::max(slowest_us, told.iteration_us);
  }
  iteration_us_.push_back(slowest_us);
  if (iteration_us_.size() > kDriftIterations) iteration_us_.pop_front();
  if (by_link()) {
    AddLinkSamples(iteration, open);
  } else {
    AddSumSamples(iteration, open);
  }
  // A link that had nothing to carry for a while is judged by what it carried last.
  for (auto& [key, samples] : samples_) {
    const std::int64_t oldest = samples.back().iteration - kSmoothing;
    while (samples.front().iteration <= oldest) samples.pop_front();
  }
  if (iteration_us_.size() < kSmoothing) return;
  double worst = ComputeRatio();
  for (const auto& [key, ratio] : LinkRatios()) {
    if (IsWorse(ratio.value, worst)) worst = ratio.value;
  }
  drift_ = worst - 1;
  // What has moved half of the smoothed iterations has lasted for as many already.
  const int before = over_ > 0 ? over_ : kSmoothing / 2;
  over_ = std::abs(drift_) > kDriftThreshold ? before + 1 : 0;
}

std::map<DriftMonitor::Key, DriftMonitor::Ratio> DriftMonitor::LinkRatios() const {
  std::map<Key, Ratio> ratios;
  for (const auto& [key, samples] : samples_) {
    std::vector<double> values;
    double bytes = 0;
    for (const Sample& sample : samples) {
      values.push_back(sample.ratio);
      bytes += sample.bytes / static_cast<double>(samples.size());
    }
    ratios[key] = {.value = Quantile(std::move(values), 0.25), .bytes = bytes};
  }
  return ratios;
}

double DriftMonitor::ComputeRatio() const {
  double slowest = 0;
  for (const auto& [worker, times] : compute_us_) {
    slowest = std::max(slowest, Quantile({times.begin(), times.end()}, 0.5));
  }
  return slowest > 0 && plan_.compute_us > 0 ? slowest / plan_.compute_us : 1;
}

PlanRequest DriftMonitor::Present() const {
  PlanRequest present = request_;
  for (const auto& [key, ratio] : LinkRatios()) {
    if (std::abs(ratio.value - 1) < kLeastChange) continue;
    if (by_link()) {
      Link& link = present.links[static_cast<std::size_t>(key.first)][static_cast<std::size_t>(key.second)];
      link.us_per_byte = Scaled(link.us_per_byte, link.latency_us, ratio.value, ratio.bytes);
      continue;
    }
    for (std::vector<Link>& of_worker : present.links) {
      for (Link& link : of_worker) link.us_per_byte *= ratio.value;
    }
    for (Link& link : present.peer_links) link.us_per_byte *= ratio.value;
  }
  const double compute = ComputeRatio();
  if (std::abs(compute - 1) < kLeastChange) return present;
  Timeline& timeline = present.timeline;
  for (LayerTiming& layer : timeline.layers) {
    layer.forward_us *= compute;
    layer.backward_us *= compute;
    layer.backward_start_us *= compute;
  }
  timeline.optimizer_us *= compute;
  timeline.end_us *= compute;
  return present;
}

std::string DriftMonitor::Cause() const {
  Key worst{-1, -1};
  double ratio = 1;
  const std::map<Key, Ratio> ratios = LinkRatios();
  for (const auto& [key, link] : ratios) {
    if (!IsWorse(link.value, ratio)) continue;
    worst = key;
    ratio = link.value;
  }
  const double compute = ComputeRatio();
  if (IsWorse(compute, ratio)) return "computing is " + Times(compute);
  if (!by_link()) return "the network is " + Times(ratio);
  const std::string server = "server " + std::to_string(worst.second);
  bool together = true;
  std::vector<double> of_server;
  for (const auto& [key, link] : ratios) {
    if (key.second != worst.second) continue;
    of_server.push_back(link.value);
    together = together && link.value * kTogether >= ratio && link.value <= ratio * kTogether;
  }
  if (together && of_server.size() > 1) return "the link to " + server + " is " + Times(Quantile(of_server, 0.5));
  return "the link of worker " + std::to_string(worst.first) + " to " + server + " is " + Times(ratio);
}

Result<PlanProposal> DriftMonitor::Propose() {
  const PlanRequest present = Present();
  proposed_ = present;
  proposed_slowdown_ = scale_ * slowdown_;
  if (!by_link()) {
    for (const auto& [key, ratio] : LinkRatios()) proposed_slowdown_ *= ratio.value;
  }
  WEFT_ASSIGN_OR_RETURN(Plan next, MakePlan(present));
  WEFT_ASSIGN_OR_RETURN(const SimulationResult with_old, Simulate(plan_, present, {}));
  WEFT_ASSIGN_OR_RETURN(const SimulationResult with_next, Simulate(next, present, {}));
  const double measured_us = Quantile({iteration_us_.begin(), iteration_us_.end()}, 0.5);
  const double least_us = std::min(with_old.iteration_us, measured_us);
  const bool faster = with_next.iteration_us <= (1 - kWorthwhileGain) * least_us;
  const bool fresher = plan_.strategy == StrategyType::kInterleavedPS && next.period <= kShorterPeriod * plan_.period &&
                       with_next.iteration_us <= kAsFast * with_old.iteration_us;
  PlanProposal proposal{.plan = std::nullopt, .cause = Cause()};
  if (!faster && !fresher) {
    char text[160];
    std::snprintf(text, sizeof text, ", but another plan would take %.3g ms an iteration, this one %.3g ms",
                  with_next.iteration_us * 1e-3, least_us * 1e-3);
    proposal.cause += text;
    return proposal;
  }
  if (plan_.strategy != StrategyType::kInterleavedPS) {
    proposal.cause += ": groups " + std::to_string(plan_.groups.size()) + " -> " + std::to_string(next.groups.size());
  } else if (next.period == plan_.period) {
    proposal.cause += ": new slots at T " + std::to_string(plan_.period);
  } else {
    proposal.cause += ": T " + std::to_string(plan_.period) + " -> " + std::to_string(next.period);
  }
  next.cause = proposal.cause;
  proposal.plan = std::move(next);
  return proposal;
}

}  // namespace weft
