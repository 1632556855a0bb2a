#include "agent/transport/fluid.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/check.h"

namespace weft {

FluidNetwork::FluidNetwork(std::vector<LinkModel> links, TimePoint start)
    : links_(std::move(links)), now_(start), statistics_start_(start), directions_(2 * links_.size()) {
  for (std::size_t rank = 0; rank < links_.size(); ++rank) {
    directions_[2 * rank].capacity = links_[rank].egress_bytes_per_second;
    directions_[2 * rank + 1].capacity = links_[rank].ingress_bytes_per_second;
  }
}

void FluidNetwork::Start(const Flow& flow, TimePoint now) {
  AdvanceTo(now);
  const bool limited = egress(flow.from).capacity > 0 || ingress(flow.to).capacity > 0;
  if (!limited || flow.bytes == 0 || flow.from == flow.to) {
    egress(flow.from).window_bytes += static_cast<double>(flow.bytes);
    ingress(flow.to).window_bytes += static_cast<double>(flow.bytes);
    Count(flow);
    ended_.push_back(flow.id);
    return;
  }
  active_.push_back({.flow = flow, .remaining_bytes = static_cast<double>(flow.bytes)});
  ++egress(flow.from).active;
  ++ingress(flow.to).active;
  Recompute();
}

void FluidNetwork::Remove(std::int64_t id, TimePoint now) {
  AdvanceTo(now);
  std::erase(ended_, id);
  const auto found = std::find_if(active_.begin(), active_.end(), [id](const auto& f) { return f.flow.id == id; });
  if (found == active_.end()) return;
  --egress(found->flow.from).active;
  --ingress(found->flow.to).active;
  active_.erase(found);
  Recompute();
}

std::optional<TimePoint> FluidNetwork::NextEnd() const {
  if (!ended_.empty()) return now_;
  std::optional<TimePoint> next;
  for (const ActiveFlow& flow : active_) {
    if (!next || flow.end < *next) next = flow.end;
  }
  return next;
}

void FluidNetwork::AdvanceTo(TimePoint now) {
  WEFT_CHECK(now >= now_);
  if (now == now_) return;
  const double seconds = ToSeconds(now - now_);
  for (Direction& direction : directions_) {
    if (direction.active > 0) direction.statistics.busy_seconds += seconds;
    if (direction.active > 1) direction.statistics.concurrent_seconds += seconds;
    CountWindows(direction, now_, now);
  }
  bool any_ended = false;
  for (ActiveFlow& flow : active_) {
    WEFT_CHECK(flow.end >= now) << "a flow's end was passed over";
    flow.remaining_bytes -= flow.bytes_per_second * seconds;
    if (flow.end == now) {
      Count(flow.flow);
      --egress(flow.flow.from).active;
      --ingress(flow.flow.to).active;
      ended_.push_back(flow.flow.id);
      any_ended = true;
    }
  }
  const TimePoint moved_to = now;
  now_ = moved_to;
  if (any_ended) {
    std::erase_if(active_, [moved_to](const ActiveFlow& flow) { return flow.end == moved_to; });
    Recompute();
  }
}

std::optional<std::int64_t> FluidNetwork::TakeEnded() {
  if (ended_.empty()) return std::nullopt;
  const std::int64_t id = ended_.front();
  ended_.erase(ended_.begin());
  return id;
}

// Progressive filling: the direction that can give its flows the least sets their rates; what it leaves of the others
// is shared by the rest.
void FluidNetwork::Recompute() {
  std::vector<double> left(directions_.size());
  std::vector<int> waiting(directions_.size(), 0);
  for (std::size_t i = 0; i < directions_.size(); ++i) {
    left[i] = directions_[i].capacity;
    directions_[i].bytes_per_second = 0;
  }
  for (ActiveFlow& flow : active_) {
    flow.bytes_per_second = 0;
    ++waiting[2 * static_cast<std::size_t>(flow.flow.from)];
    ++waiting[2 * static_cast<std::size_t>(flow.flow.to) + 1];
  }
  std::size_t unset = active_.size();
  while (unset > 0) {
    std::size_t tightest = directions_.size();
    double share = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < directions_.size(); ++i) {
      if (directions_[i].capacity <= 0 || waiting[i] == 0) continue;
      const double candidate = std::max(left[i], 0.0) / waiting[i];
      if (candidate < share) {
        share = candidate;
        tightest = i;
      }
    }
    WEFT_CHECK(tightest < directions_.size()) << "a flow without a limited link";
    // Rounding must not leave a flow without a rate: it would never end.
    share = std::max(share, 1e-9 * directions_[tightest].capacity);
    for (ActiveFlow& flow : active_) {
      const std::size_t out = 2 * static_cast<std::size_t>(flow.flow.from);
      const std::size_t in = 2 * static_cast<std::size_t>(flow.flow.to) + 1;
      if (flow.bytes_per_second > 0 || (out != tightest && in != tightest)) continue;
      flow.bytes_per_second = share;
      for (const std::size_t i : {out, in}) {
        left[i] -= share;
        --waiting[i];
        directions_[i].bytes_per_second += share;
      }
      --unset;
    }
  }
  for (ActiveFlow& flow : active_) {
    const double nanoseconds = std::ceil(std::max(flow.remaining_bytes, 0.0) / flow.bytes_per_second * 1e9);
    flow.end = now_ + Duration(std::max<Duration::rep>(1, static_cast<Duration::rep>(nanoseconds)));
  }
}

void FluidNetwork::Count(const Flow& flow) {
  for (Direction* direction : {&egress(flow.from), &ingress(flow.to)}) {
    LinkStatistics& statistics = direction->statistics;
    ++statistics.messages;
    statistics.bytes += flow.bytes;
    TrafficCount& kind = statistics.by_kind[static_cast<std::size_t>(flow.kind) % statistics.by_kind.size()];
    ++kind.messages;
    kind.bytes += flow.bytes;
  }
}

void FluidNetwork::CloseWindow(Direction& direction) {
  const double rate = direction.window_bytes / ToSeconds(kPeakWindow);
  direction.statistics.peak_bytes_per_second = std::max(direction.statistics.peak_bytes_per_second, rate);
  direction.window_bytes = 0;
}

void FluidNetwork::CountWindows(Direction& direction, TimePoint from, TimePoint to) {
  const auto window_of = [this](TimePoint time) { return (time - statistics_start_) / kPeakWindow; };
  if (window_of(from) == window_of(to)) {
    direction.window_bytes += direction.bytes_per_second * ToSeconds(to - from);
    return;
  }
  const TimePoint first_edge = statistics_start_ + kPeakWindow * (window_of(from) + 1);
  const TimePoint last_edge = statistics_start_ + kPeakWindow * window_of(to);
  direction.window_bytes += direction.bytes_per_second * ToSeconds(first_edge - from);
  CloseWindow(direction);
  if (last_edge > first_edge) {
    direction.window_bytes = direction.bytes_per_second * ToSeconds(kPeakWindow);
    CloseWindow(direction);
  }
  direction.window_bytes = direction.bytes_per_second * ToSeconds(to - last_edge);
}

RankStatistics FluidNetwork::Statistics(int rank) const {
  RankStatistics result;
  result.elapsed_seconds = ToSeconds(now_ - statistics_start_);
  result.egress = directions_[2 * static_cast<std::size_t>(rank)].statistics;
  result.ingress = directions_[2 * static_cast<std::size_t>(rank) + 1].statistics;
  return result;
}

void FluidNetwork::ResetStatistics() {
  statistics_start_ = now_;
  for (Direction& direction : directions_) {
    direction.statistics = {};
    direction.window_bytes = 0;
  }
}

}  // namespace weft
