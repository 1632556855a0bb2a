#include "common/report/curves.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kSecondsPerUs = 1e-6;
constexpr double kSecondsPerNs = 1e-9;

}  // namespace

double Rounded(double value) {
  if (!std::isfinite(value)) return value;
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return std::strtod(text, nullptr);
}

void Curves::Series::Add(double value) {
  if (!std::isfinite(value)) return;
  sum += value;
  ++count;
  min = std::min(min, value);
  max = std::max(max, value);
}

void Curves::Series::Add(const Series& other) {
  sum += other.sum;
  count += other.count;
  min = std::min(min, other.min);
  max = std::max(max, other.max);
}

double Curves::Series::mean() const {
  return count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
}

void Curves::Point::Add(const Point& other) {
  last_iteration = std::max(last_iteration, other.last_iteration);
  seconds = std::max(seconds, other.seconds);
  loss.Add(other.loss);
  accuracy.Add(other.accuracy);
  iteration_us.Add(other.iteration_us);
  compute_us.Add(other.compute_us);
  stall_us.Add(other.stall_us);
  staleness.Add(other.staleness);
}

void Curves::Add(const IterationLine& line) {
  if (line.iteration < 1) return;
  while ((line.iteration - 1) / width_ >= kMaxPoints) {
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (i % 2 == 1) {
        points_[i / 2].Add(points_[i]);
      } else if (i > 0) {
        points_[i / 2] = points_[i];
      }
    }
    points_.resize((points_.size() + 1) / 2);
    width_ *= 2;
  }
  const auto index = static_cast<std::size_t>((line.iteration - 1) / width_);
  if (points_.size() <= index) points_.resize(index + 1);

  Worker& worker = workers_[line.rank];
  if (!worker.origin_ns.has_value()) {
    worker.origin_ns = line.start_ns;
    worker.start_seconds = restart_seconds_;
  }
  const double start = static_cast<double>(line.start_ns) - static_cast<double>(*worker.origin_ns);
  const double seconds = worker.start_seconds + start * kSecondsPerNs + line.iteration_us * kSecondsPerUs;
  const double compute_us = line.iteration_us - line.communication_us;
  worker.iteration_us.Add(line.iteration_us);
  worker.compute_us.Add(compute_us);
  worker.stall_us.Add(line.stall_us);

  Point& point = points_[index];
  point.last_iteration = std::max(point.last_iteration, line.iteration);
  if (std::isfinite(seconds)) {
    point.seconds = std::max(point.seconds, seconds);
    seconds_ = std::max(seconds_, seconds);
  }
  point.loss.Add(line.loss);
  point.accuracy.Add(line.accuracy);
  point.iteration_us.Add(line.iteration_us);
  point.compute_us.Add(compute_us);
  point.stall_us.Add(line.stall_us);
  point.staleness.Add(line.staleness);

  last_iteration_ = std::max(last_iteration_, line.iteration);
  if (line.epoch > last_epoch_) {
    last_epoch_ = line.epoch;
    iterations_per_epoch_ = static_cast<double>(line.iteration - 1) / static_cast<double>(line.epoch - 1);
  }
}

void Curves::AddRestart() {
  restart_seconds_ = seconds_;
  for (auto& [rank, worker] : workers_) worker.origin_ns.reset();
}

double Curves::SecondsAt(std::int64_t iteration) const {
  double seconds = 0;
  double at = 0;  // the iteration that ended there
  for (const Point& point : points_) {
    if (point.last_iteration == 0) continue;
    if (iteration <= point.last_iteration) {
      const double share = (static_cast<double>(iteration) - at) / (static_cast<double>(point.last_iteration) - at);
      return seconds + share * (point.seconds - seconds);
    }
    seconds = point.seconds;
    at = static_cast<double>(point.last_iteration);
  }
  return at > 0 ? seconds : std::numeric_limits<double>::quiet_NaN();
}

Json Curves::ToJson() const {
  Json iteration = Json::array();
  Json seconds = Json::array();
  for (const Point& point : points_) {
    if (point.last_iteration == 0) continue;
    iteration.push_back(point.last_iteration);
    seconds.push_back(Rounded(point.seconds));
  }
  Json columns = {{"width", width_}, {"iteration", std::move(iteration)}, {"seconds", std::move(seconds)}};
  const auto add = [&](const std::string& name, auto value) {
    Json column = Json::array();
    for (const Point& point : points_) {
      if (point.last_iteration > 0) column.push_back(Rounded(value(point)));
    }
    columns[name] = std::move(column);
  };
  const auto add_with_range = [&](const std::string& name, auto series) {
    add(name, [&](const Point& point) { return (point.*series).mean(); });
    add(name + "_min", [&](const Point& point) { return (point.*series).min; });
    add(name + "_max", [&](const Point& point) { return (point.*series).max; });
  };
  add_with_range("loss", &Point::loss);
  add("accuracy", [](const Point& point) { return point.accuracy.mean(); });
  add_with_range("iteration_us", &Point::iteration_us);
  add("compute_us", [](const Point& point) { return point.compute_us.mean(); });
  add("stall_us", [](const Point& point) { return point.stall_us.mean(); });
  add_with_range("staleness", &Point::staleness);
  return columns;
}

Json Curves::WorkersJson() const {
  Json workers = Json::array();
  for (const auto& [rank, worker] : workers_) {
    workers.push_back({{"rank", rank},
                       {"iterations", worker.iteration_us.count},
                       {"iteration_us", Rounded(worker.iteration_us.mean())},
                       {"compute_us", Rounded(worker.compute_us.mean())},
                       {"stall_us", Rounded(worker.stall_us.mean())}});
  }
  return workers;
}

}  // namespace weft
