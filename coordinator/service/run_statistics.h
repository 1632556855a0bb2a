// A run in numbers: how it goes now, for the progress line, and how it went, for summary.json. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proto/coordinator.pb.h"

namespace weft {

struct Quantiles {
  double median = 0;
  double p95 = 0;
};
// By linear interpolation between the closest ranks; zeros for no values.
Quantiles QuantilesOf(std::vector<double> values);

// Of a group's transfers with the servers.
struct GroupTotals {
  std::int64_t transfers = 0;
  std::int64_t push_bytes = 0;
  std::int64_t pull_bytes = 0;
  std::int64_t overruns = 0;
  // Sums over the transfers.
  double transfer_seconds = 0;    // from the grant to the end
  double grant_wait_seconds = 0;  // from the request to the grant
  double late_seconds = 0;        // from the planned start to the request; negative: before it
};

struct RunTotals {
  std::int64_t iterations = 0;  // ended by all workers: the slowest one's, as of a checkpoint
  std::int64_t epochs = 0;      // that these make up
  double accuracy = -1;         // of the last evaluation; negative: there was none
  double loss = 0;              // mean of the last evaluation, or of the last second of training before the first
  std::int64_t samples = 0;     // trained on, all workers
  double seconds = 0;           // from the first iteration's start to the last one's end
  Quantiles iteration_seconds;
  double stall_fraction = 0;       // of the iterations' time
  double bytes_per_iteration = 0;  // sent and received, all workers
  // Of one worker's batch: the mean time in forward, backward and local step, and beside it.
  double compute_per_batch_seconds = 0;
  double communication_per_batch_seconds = 0;
  std::vector<std::int64_t> sent_bytes;  // by worker, to other ranks
  std::vector<std::int64_t> received_bytes;
  std::optional<double> model_variance;  // Gamma, as last told
  std::optional<double> worst_accuracy;  // of a single worker's model, at the last evaluation that had it
  // What the planes without servers tell; all workers together, by result.
  std::map<std::string, std::int64_t> interactions;
  std::int64_t further_digit_blocks = 0;
  std::int64_t raw_blocks = 0;
  double parallel_time = 0;  // averagings, divided by the workers
  std::string mechanism;     // of the registers; empty: there are none
  std::string mechanism_reason;
  double staleness_mean = 0;
  double staleness_max = 0;
  std::map<std::uint32_t, GroupTotals> groups;
};

// Not thread-safe.
class RunStatistics {
 public:
  // `start_iteration`: of the checkpoint that the run goes on from; `worker_iterations`: each worker's own, where they
  // have one.
  explicit RunStatistics(std::int64_t start_iteration, const std::vector<std::int64_t>& worker_iterations = {});

  void Add(int worker, const v1::IterationReport& report);
  void AddEvaluation(const v1::EvaluationResult& evaluation);
  // A worker's newest, which replaces the one before.
  void AddExchange(int worker, const v1::ExchangeReport& report) { exchanges_[worker] = report; }
  void SetModelVariance(double variance) { model_variance_ = variance; }

  // Over the reports of the last second. `iterations` are the whole run's; a job may give them in place of epochs, and
  // the last epoch then has fewer.
  v1::Progress Now(std::int64_t iterations_per_epoch, std::int64_t iterations, double compute_seconds) const;
  RunTotals Totals(std::int64_t iterations_per_epoch) const;
  // Whether any worker has ended an iteration.
  bool trained() const { return !iteration_seconds_.empty(); }

  // The furthest worker's.
  std::int64_t iteration() const { return iteration_; }
  // Median of the last second; 0 before the first report.
  double recent_iteration_seconds() const;
  // Their mean, which tells how far a worker comes: where processors are shared a few iterations take most of the time.
  double recent_mean_seconds() const;

 private:
  void AddExchanges(RunTotals* totals) const;
  std::int64_t SlowestIteration() const;

  struct Recent {
    std::int64_t end_ns = 0;
    double seconds = 0;
    double stall_seconds = 0;
    std::int64_t bytes = 0;
    double loss_sum = 0;  // finite ones only
    std::int64_t predictions = 0;
    bool not_finite = false;
  };
  struct Worker {
    std::int64_t iteration = 0;
    std::int64_t epoch = 0;  // the one that runs, 1-based as the ranks count
    std::int64_t sent_bytes = 0;
    std::int64_t received_bytes = 0;
  };

  std::int64_t iteration_ = 0;
  const std::int64_t first_;
  double accuracy_ = -1;
  double evaluation_loss_ = 0;
  std::int64_t start_ns_ = 0;
  std::int64_t end_ns_ = 0;
  std::int64_t samples_ = 0;
  std::int64_t bytes_ = 0;
  double stall_seconds_ = 0;
  double communication_seconds_ = 0;
  std::map<int, Worker> workers_;
  std::map<std::uint32_t, GroupTotals> groups_;
  std::map<int, v1::ExchangeReport> exchanges_;
  std::optional<double> model_variance_;
  std::optional<double> worst_accuracy_;
  double staleness_sum_ = 0;
  double staleness_max_ = 0;
  std::vector<double> iteration_seconds_;
  std::deque<Recent> recent_;
};

}  // namespace weft
