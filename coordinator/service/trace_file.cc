#include "coordinator/service/trace_file.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

enum class TrackKind { kCompute, kSlots, kTransfers };

// A row of the viewer: of a rank, of a group, of a kind. Compute is of group -1. Of slices that overlap, each has a
// lane.
struct Track {
  int rank = 0;
  int group = -1;
  TrackKind kind = TrackKind::kCompute;
  int lane = 0;

  friend auto operator<=>(const Track&, const Track&) = default;
};

// Whole nanoseconds, so that ends compare exactly.
struct Slice {
  Track track;
  std::string name;
  std::int64_t start_ns = 0;
  std::int64_t length_ns = 0;
  Json args;

  std::int64_t end_ns() const { return start_ns + length_ns; }
};

void AddCompute(int rank, const v1::IterationReport& report, std::vector<Slice>& slices) {
  const Track track{.rank = rank};
  const std::int64_t start = report.start_ns();
  const std::int64_t forward = std::clamp(report.forward_end_ns(), start, std::max(start, report.end_ns()));
  const std::int64_t end = std::max(forward, report.end_ns());
  slices.push_back({track,
                    "iteration " + std::to_string(report.iteration()),
                    start,
                    end - start,
                    {{"iteration", report.iteration()}, {"stall_us", static_cast<double>(report.stall_ns()) * 1e-3}}});
  slices.push_back({track, "forward", start, forward - start, Json::object()});
  slices.push_back({track, "backward", forward, end - forward, Json::object()});
}

void AddTransfer(int rank, const v1::Transfer& transfer, const Plan& plan, std::vector<Slice>& slices) {
  const PlanGroup& group = plan.groups[transfer.group()];
  const std::string peer = UsesParameterServers(plan.strategy) ? "server" : "worker";
  const auto us = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-3; };
  const Json place = {{"round", transfer.round()}, {"slot", transfer.slot()}, {peer, transfer.server()}};
  // Without slots a plan tells only when a transfer may start.
  if (const auto length = static_cast<std::int64_t>(std::llround(group.slot_us * 1e3)); length > 0) {
    slices.push_back({{.rank = rank, .group = group.index, .kind = TrackKind::kSlots},
                      "slot " + std::to_string(transfer.slot()),
                      transfer.planned_start_ns(),
                      length,
                      place});
  }
  Json args = place;
  args["push_bytes"] = transfer.push_bytes();
  args["pull_bytes"] = transfer.pull_bytes();
  args["grant_wait_us"] = us(transfer.granted_ns() - transfer.start_ns());
  args["start_error_us"] = us(transfer.start_ns() - transfer.planned_start_ns());
  args["overrun"] = transfer.overrun();
  slices.push_back({{.rank = rank, .group = group.index, .kind = TrackKind::kTransfers},
                    peer + " " + std::to_string(transfer.server()),
                    transfer.granted_ns(),
                    std::max<std::int64_t>(transfer.end_ns() - transfer.granted_ns(), 0),
                    std::move(args)});
}

// Gives each slice a lane, and sorts: by track, then by start, with what encloses before what it encloses.
void Arrange(std::vector<Slice>& slices) {
  const auto earlier = [](const Slice& a, const Slice& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.length_ns > b.length_ns;
  };
  std::stable_sort(slices.begin(), slices.end(), earlier);
  std::map<Track, std::vector<std::int64_t>> ends;  // by lane
  for (Slice& slice : slices) {
    if (slice.track.kind == TrackKind::kCompute) continue;  // a worker's iterations follow each other
    std::vector<std::int64_t>& lanes = ends[slice.track];
    const auto free = std::find_if(lanes.begin(), lanes.end(), [&](std::int64_t end) { return end <= slice.start_ns; });
    slice.track.lane = static_cast<int>(free - lanes.begin());
    if (free == lanes.end()) {
      lanes.push_back(slice.end_ns());
    } else {
      *free = slice.end_ns();
    }
  }
  std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) { return a.track < b.track; });
}

std::string NameOf(const Track& track) {
  if (track.kind == TrackKind::kCompute) return "compute";
  return std::string(track.kind == TrackKind::kSlots ? "slots" : "transfers") + " of group " +
         std::to_string(track.group) + (track.lane > 0 ? " (" + std::to_string(track.lane + 1) + ")" : "");
}

Json NameEvent(const char* what, int process, int thread, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

}  // namespace

void TraceCollector::Add(int rank, const v1::IterationReport& report) {
  if (first_.size() < kFirstReports) {
    first_.emplace_back(rank, report);
    return;
  }
  last_.emplace_back(rank, report);
  if (last_.size() > kLastReports) last_.pop_front();
}

std::string TraceCollector::ToJson(const std::vector<Plan>& plans) const {
  std::vector<Slice> slices;
  std::int64_t origin_ns = std::numeric_limits<std::int64_t>::max();
  const auto add = [&](int rank, const v1::IterationReport& report) {
    origin_ns = std::min(origin_ns, report.start_ns());
    AddCompute(rank, report, slices);
    const auto holds = std::find_if(plans.rbegin(), plans.rend(),
                                    [&](const Plan& plan) { return plan.from_iteration <= report.iteration(); });
    if (holds == plans.rend()) return;
    for (const v1::Transfer& transfer : report.transfers()) {
      if (transfer.group() < holds->groups.size()) AddTransfer(rank, transfer, *holds, slices);
    }
  };
  for (const auto& [rank, report] : first_) add(rank, report);
  for (const auto& [rank, report] : last_) add(rank, report);
  Arrange(slices);

  Json events = Json::array();
  for (int rank = 0; rank < (plans.empty() ? 0 : plans[0].workers); ++rank) {
    events.push_back(NameEvent("process_name", rank, 0, "worker " + std::to_string(rank)));
  }
  const Track* track = nullptr;
  int thread = 0;  // of its rank
  for (const Slice& slice : slices) {
    if (track == nullptr || *track != slice.track) {
      thread = track == nullptr || track->rank != slice.track.rank ? 0 : thread + 1;
      track = &slice.track;
      events.push_back(NameEvent("thread_name", track->rank, thread, NameOf(*track)));
    }
    events.push_back({{"name", slice.name},
                      {"ph", "X"},
                      {"pid", slice.track.rank},
                      {"tid", thread},
                      {"ts", static_cast<double>(slice.start_ns - origin_ns) * 1e-3},
                      {"dur", static_cast<double>(slice.length_ns) * 1e-3},
                      {"args", slice.args}});
  }
  const Json trace = {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  return trace.dump() + "\n";
}

}  // namespace weft
