#include "common/report/metrics_reader.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "common/report/curves.h"
#include "common/report/iteration_line.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxEvaluations = 2000;
constexpr std::size_t kMaxVariances = 2000;
constexpr std::size_t kMaxGroups = 10'000;
constexpr std::size_t kMaxTransfers = 4000;  // a period
constexpr int kMaxPeriod = 64;               // iterations; of a longer one its beginning
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double Number(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : kNaN;
}

// 0 for what is too large for a difference of two to fit.
std::int64_t Integer(const Json& object, const char* key) {
  const double value = Number(object, key);
  return std::abs(value) < 4e18 ? static_cast<std::int64_t>(value) : 0;
}

// All of a line but its transfers, which are most of it and come last. Not an object: the line is torn or none of ours.
Json HeadOf(const std::string& line) {
  constexpr std::string_view kTransfers = ",\"transfers\":[";
  const std::size_t at = line.find(kTransfers);
  if (at == std::string::npos || !line.ends_with("]}")) {
    return Json::parse(line, nullptr, /*allow_exceptions=*/false);
  }
  return Json::parse(line.substr(0, at) + "}", nullptr, /*allow_exceptions=*/false);
}

std::optional<IterationLine> ParseIteration(const Json& head) {
  if (!head.contains("rank") || !head.contains("iteration_us")) return std::nullopt;
  IterationLine line;
  line.iteration = Integer(head, "iteration");
  line.epoch = Integer(head, "epoch");
  line.rank = static_cast<int>(std::clamp<std::int64_t>(Integer(head, "rank"), 0, 1 << 20));
  line.start_ns = Integer(head, "start_ns");
  line.iteration_us = Number(head, "iteration_us");
  line.forward_us = Number(head, "forward_us");
  line.stall_us = Number(head, "stall_us");
  line.communication_us = Number(head, "communication_us");
  line.loss = Number(head, "loss");
  line.accuracy = Number(head, "accuracy");
  line.staleness = Number(head, "staleness_iterations");
  if (line.iteration < 1) return std::nullopt;
  return line;
}

// Values that come over the run, at most `limit` of them: each `step`-th, and always the newest.
class Thinned {
 public:
  explicit Thinned(std::size_t limit) : limit_(limit) {}

  void Add(Json value) {
    if (seen_++ % step_ == 0) {
      if (kept_.size() == limit_) {
        for (std::size_t i = 0; 2 * i < kept_.size(); ++i) kept_[i] = std::move(kept_[2 * i]);
        kept_.resize((kept_.size() + 1) / 2);
        step_ *= 2;
      }
      kept_.push_back(std::move(value));
      newest_.reset();
    } else {
      newest_ = std::move(value);
    }
  }
  std::vector<Json> Take() {
    if (newest_.has_value()) kept_.push_back(*std::move(newest_));
    return std::move(kept_);
  }

 private:
  const std::size_t limit_;
  std::size_t seen_ = 0;
  std::size_t step_ = 1;
  std::vector<Json> kept_;
  std::optional<Json> newest_;
};

struct Overview {
  Curves curves;
  Thinned evaluations{kMaxEvaluations};
  Thinned variances{kMaxVariances};
  std::vector<double> group_stall_us;
  std::int64_t lines = 0;  // of iterations
  std::int64_t left_out = 0;
  std::vector<double> scanned_stall_us = {};

  void Add(const std::string& line);
  void AddIteration(const IterationLine& line, const std::vector<double>& stall_us);
};

void Overview::AddIteration(const IterationLine& line, const std::vector<double>& stall_us) {
  ++lines;
  curves.Add(line);
  const std::size_t groups = std::min(stall_us.size(), kMaxGroups);
  if (group_stall_us.size() < groups) group_stall_us.resize(groups);
  for (std::size_t group = 0; group < groups; ++group) {
    if (!std::isnan(stall_us[group])) group_stall_us[group] += stall_us[group];
  }
}

void Overview::Add(const std::string& line) {
  if (const std::optional<IterationLine> iteration = ScanIterationLine(line, &scanned_stall_us)) {
    return AddIteration(*iteration, scanned_stall_us);
  }
  const Json head = HeadOf(line);
  if (!head.is_object()) {
    ++left_out;
    return;
  }
  if (const std::optional<IterationLine> iteration = ParseIteration(head)) {
    std::vector<double> stall_us;
    if (const auto stalls = head.find("group_stall_us"); stalls != head.end() && stalls->is_array()) {
      for (const Json& stall : *stalls) stall_us.push_back(stall.is_number() ? stall.get<double>() : kNaN);
    }
    return AddIteration(*iteration, stall_us);
  }
  bool known = head.contains("resumed");
  if (known) curves.AddRestart();
  if (const auto evaluation = head.find("evaluation"); evaluation != head.end() && evaluation->is_object()) {
    known = true;
    Json point = {{"iteration", Integer(head, "iteration")},
                  {"epoch", Integer(head, "epoch")},
                  {"loss", Rounded(Number(*evaluation, "loss"))},
                  {"accuracy", Rounded(Number(*evaluation, "accuracy"))},
                  {"final", head.value("final", Json()) == true}};
    if (evaluation->contains("worst_accuracy")) {
      point["worst_accuracy"] = Rounded(Number(*evaluation, "worst_accuracy"));
    }
    evaluations.Add(std::move(point));
  }
  if (head.contains("model_variance")) {
    known = true;
    variances.Add(Json::array({Integer(head, "iteration"), Rounded(Number(head, "model_variance")),
                               Rounded(Number(head, "model_variance_relative_error"))}));
  }
  if (!known) ++left_out;
}

// The transfers of the iterations first to last, of all workers.
struct Period {
  const char* place = "";
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t from_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t to_ns = std::numeric_limits<std::int64_t>::min();
  Json iterations = Json::array();
  std::vector<Json> transfers = {};

  // A transfer is told with the iteration in which it ended, which may be the next one.
  bool Wants(std::int64_t iteration) const { return iteration >= first && iteration <= last + 1; }
  void Add(const Json& line);
  Json ToJson() const;
};

constexpr std::array<const char*, 4> kTimes = {"planned_start_us", "start_us", "granted_us", "transfer_us"};

void Period::Add(const Json& line) {
  const std::optional<IterationLine> iteration = ParseIteration(line);
  if (!iteration.has_value() || !std::isfinite(iteration->iteration_us)) return;
  if (iteration->iteration <= last) {
    const auto end_ns = iteration->start_ns + static_cast<std::int64_t>(std::min(iteration->iteration_us, 1e12) * 1e3);
    from_ns = std::min(from_ns, iteration->start_ns);
    to_ns = std::max(to_ns, end_ns);
    iterations.push_back({iteration->rank, iteration->iteration, iteration->start_ns, Rounded(iteration->forward_us),
                          Rounded(iteration->iteration_us), Rounded(iteration->stall_us)});
  }
  const auto found = line.find("transfers");
  if (found == line.end() || !found->is_array()) return;
  for (const Json& transfer : *found) {
    if (!transfer.is_object() || transfers.size() >= 4 * kMaxTransfers) continue;
    Json row = {iteration->rank,
                Integer(transfer, "group"),
                Integer(transfer, "slot"),
                Integer(transfer, "server"),
                Integer(transfer, "round"),
                iteration->start_ns};
    for (const char* time : kTimes) row.push_back(Number(transfer, time));
    row.push_back(Integer(transfer, "push_bytes"));
    row.push_back(Integer(transfer, "pull_bytes"));
    row.push_back(Rounded(Number(transfer, "staleness_wait_us")));
    row.push_back(transfer.value("overrun", Json()) == true);
    transfers.push_back(std::move(row));
  }
}

// Times become microseconds from the period's start.
Json Period::ToJson() const {
  constexpr std::size_t kStart = 5;
  const auto from = [&](std::int64_t ns) { return static_cast<double>(ns - from_ns) * 1e-3; };
  Json rows = Json::array();
  for (const Json& iteration : iterations) {
    Json row = iteration;
    row[2] = Rounded(from(iteration[2].get<std::int64_t>()));
    rows.push_back(std::move(row));
  }
  Json inside = Json::array();
  std::size_t left_out = 0;
  const double length = from(to_ns);
  for (const Json& transfer : transfers) {
    const double origin = from(transfer[kStart].get<std::int64_t>());
    const double planned = origin + transfer[kStart + 1].get<double>();
    const double start = origin + transfer[kStart + 2].get<double>();
    const double granted = origin + transfer[kStart + 3].get<double>();
    const double took = transfer[kStart + 4].get<double>();
    if (!(granted + took > 0 && granted < length)) continue;
    if (inside.size() == kMaxTransfers) {
      ++left_out;
      continue;
    }
    Json row = Json::array();
    for (std::size_t i = 0; i < kStart; ++i) row.push_back(transfer[i]);
    for (const double time : {planned, start, granted, took}) row.push_back(Rounded(time));
    for (std::size_t i = kStart + 5; i < transfer.size(); ++i) row.push_back(transfer[i]);
    inside.push_back(std::move(row));
  }
  return {{"place", place},
          {"first_iteration", first},
          {"last_iteration", last},
          {"length_us", Rounded(length)},
          {"iteration_columns", {"rank", "iteration", "start_us", "forward_us", "iteration_us", "stall_us"}},
          {"iterations", std::move(rows)},
          {"transfer_columns",
           {"rank", "group", "slot", "server", "round", "planned_us", "start_us", "granted_us", "transfer_us",
            "push_bytes", "pull_bytes", "staleness_wait_us", "overrun"}},
          {"transfers", std::move(inside)},
          {"left_out", left_out}};
}

// One near the start, behind what the first iterations need to get going; one from the middle; and the last whole one.
std::vector<Period> ChoosePeriods(std::int64_t last_iteration, int period) {
  std::vector<Period> chosen;
  if (period < 1) return chosen;
  const std::int64_t length = std::clamp(period, 2, kMaxPeriod);
  const auto add = [&](const char* place, std::int64_t first) {
    first = std::max<std::int64_t>(first - (first - 1) % length, 1);
    if (!chosen.empty() && first <= chosen.back().last) return;
    if (chosen.empty() || first + length - 1 <= last_iteration) {
      chosen.push_back({.place = place, .first = first, .last = first + length - 1});
    }
  };
  add("near the start", std::min(2 * length + 1, last_iteration - length));
  add("in the middle", last_iteration / 2);
  add("at the end", last_iteration - length);
  return chosen;
}

// Our own lines begin with it, and the file is long.
std::int64_t IterationOf(const std::string& line) {
  constexpr std::string_view kStart = "{\"iteration\":";
  if (line.starts_with(kStart)) return std::strtoll(line.c_str() + kStart.size(), nullptr, 10);
  const Json head = HeadOf(line);
  return head.is_object() ? Integer(head, "iteration") : 0;
}

Json ReadPeriods(std::ifstream& file, std::vector<Period> periods) {
  for (std::string line; std::getline(file, line);) {
    const std::int64_t iteration = IterationOf(line);
    std::optional<Json> whole;
    for (Period& period : periods) {
      if (!period.Wants(iteration)) continue;
      if (!whole.has_value()) whole = Json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (whole->is_object()) period.Add(*whole);
    }
  }
  Json all = Json::array();
  for (const Period& period : periods) {
    if (!period.iterations.empty()) all.push_back(period.ToJson());
  }
  return all;
}

}  // namespace

Result<Json> ReadMetrics(const std::string& path, int period) {
  std::ifstream file(path);
  if (!file) return ErrnoError("open " + path, errno);
  Overview overview;
  for (std::string line; std::getline(file, line);) overview.Add(line);
  if (file.bad()) return ErrnoError("read " + path, errno);

  const Curves& curves = overview.curves;
  double iterations_per_epoch = curves.iterations_per_epoch();
  Json evaluations = Json::array();
  for (Json& evaluation : overview.evaluations.Take()) {
    const auto iteration = evaluation["iteration"].get<std::int64_t>();
    const auto epoch = evaluation["epoch"].get<std::int64_t>();
    // A last one in an epoch's midst tells less.
    if (epoch > 0 && iterations_per_epoch == 0) {
      iterations_per_epoch = static_cast<double>(iteration) / static_cast<double>(epoch);
    }
    evaluation["seconds"] = Rounded(curves.SecondsAt(iteration));
    evaluations.push_back(std::move(evaluation));
  }
  Json variance = {{"iteration", Json::array()},
                   {"seconds", Json::array()},
                   {"value", Json::array()},
                   {"relative_error", Json::array()}};
  for (const Json& one : overview.variances.Take()) {
    variance["iteration"].push_back(one[0]);
    variance["seconds"].push_back(Rounded(curves.SecondsAt(one[0].get<std::int64_t>())));
    variance["value"].push_back(one[1]);
    variance["relative_error"].push_back(one[2]);
  }
  Json stalls = Json::array();
  for (const double sum : overview.group_stall_us) {
    stalls.push_back(Rounded(sum / static_cast<double>(std::max<std::int64_t>(overview.lines, 1))));
  }
  file.clear();
  file.seekg(0);
  return Json{{"iterations", curves.last_iteration()},
              {"iterations_per_epoch", Rounded(iterations_per_epoch)},
              {"left_out", overview.left_out},
              {"curves", curves.ToJson()},
              {"workers", curves.WorkersJson()},
              {"evaluations", std::move(evaluations)},
              {"variance", std::move(variance)},
              {"group_stall_us", std::move(stalls)},
              {"periods", ReadPeriods(file, ChoosePeriods(curves.last_iteration(), period))}};
}

}  // namespace weft
