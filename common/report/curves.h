// A run's curves over its iterations, thinned while metrics.jsonl is read: whatever the length of the run, at most
// kMaxPoints points are kept. A point stands for as many consecutive iterations as all others (a power of two) and has
// the mean over them and over the workers, with the smallest and the largest value, so that no spike is lost.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

namespace weft {

// Six significant digits: more would only make the page longer. What is not finite stays so.
double Rounded(double value);

// What a point needs of a worker's line in metrics.jsonl (docs/format/metrics-jsonl.md).
struct IterationLine {
  std::int64_t iteration = 0;  // from 1
  std::int64_t epoch = 0;      // from 1
  int rank = 0;
  std::int64_t start_ns = 0;
  double iteration_us = 0;
  double forward_us = 0;
  double stall_us = 0;
  double communication_us = 0;
  double loss = 0;  // NaN: not a finite number
  double accuracy = 0;
  double staleness = 0;
};

// Not thread-safe.
class Curves {
 public:
  static constexpr std::int64_t kMaxPoints = 1000;

  // Iterations below 1 are left out.
  void Add(const IterationLine& line);
  // From here on the lines are of processes that were started anew: their clocks start where the others ended.
  void AddRestart();

  std::int64_t last_iteration() const { return last_iteration_; }
  // Of training until this iteration had ended at all workers, interpolated between the points; NaN without lines.
  double SecondsAt(std::int64_t iteration) const;
  // 0 where no second epoch began.
  double iterations_per_epoch() const { return iterations_per_epoch_; }

  // An object of columns of one length: "iteration" (a point's last), "seconds", then by name a mean, and of some the
  // smallest ("loss_min") and the largest.
  nlohmann::ordered_json ToJson() const;
  // By worker: iterations, mean times, share of stall.
  nlohmann::ordered_json WorkersJson() const;

 private:
  struct Series {
    double sum = 0;
    std::int64_t count = 0;
    double min = std::numeric_limits<double>::infinity();
    double max = -std::numeric_limits<double>::infinity();

    void Add(double value);
    void Add(const Series& other);
    double mean() const;
  };
  struct Point {
    std::int64_t last_iteration = 0;  // 0: no line yet
    double seconds = 0;
    Series loss, accuracy, iteration_us, compute_us, stall_us, staleness;

    void Add(const Point& other);
  };
  struct Worker {
    std::optional<std::int64_t> origin_ns;
    double start_seconds = 0;  // of training at the origin
    Series iteration_us, compute_us, stall_us;
  };

  std::int64_t width_ = 1;     // iterations a point
  std::vector<Point> points_;  // point i: iterations i width + 1 to (i + 1) width
  std::map<int, Worker> workers_;
  std::int64_t last_iteration_ = 0;
  std::int64_t last_epoch_ = 1;
  double iterations_per_epoch_ = 0;
  double seconds_ = 0;
  double restart_seconds_ = 0;
};

}  // namespace weft
