#include "coordinator/service/run_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft {
namespace {

constexpr std::int64_t kRecentNs = 1'000'000'000;
constexpr double kSecondsPerNs = 1e-9;

}  // namespace

Quantiles QuantilesOf(std::vector<double> values) {
  if (values.empty()) return {};
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(std::floor(place));
    const std::size_t above = std::min(below + 1, values.size() - 1);
    const auto found = values.begin() + static_cast<std::ptrdiff_t>(below);
    std::nth_element(values.begin(), found, values.end());
    const double lower = *found;
    const double upper = above > below ? *std::min_element(found + 1, values.end()) : lower;
    return lower + (place - std::floor(place)) * (upper - lower);
  };
  return {.median = at(0.5), .p95 = at(0.95)};
}

RunStatistics::RunStatistics(std::int64_t start_iteration, const std::vector<std::int64_t>& worker_iterations)
    : iteration_(start_iteration), first_(start_iteration) {
  for (std::size_t worker = 0; worker < worker_iterations.size(); ++worker) {
    workers_[static_cast<int>(worker)].iteration = worker_iterations[worker];
  }
}

std::int64_t RunStatistics::SlowestIteration() const {
  std::int64_t slowest = iteration_;
  for (const auto& [rank, worker] : workers_) slowest = std::min(slowest, worker.iteration);
  return slowest;
}

void RunStatistics::Add(int worker, const v1::IterationReport& report) {
  const double seconds = static_cast<double>(report.end_ns() - report.start_ns()) * kSecondsPerNs;
  const double stall = static_cast<double>(report.stall_ns()) * kSecondsPerNs;
  const std::int64_t bytes = report.sent_bytes() + report.received_bytes();

  if (iteration_seconds_.empty() || report.start_ns() < start_ns_) start_ns_ = report.start_ns();
  end_ns_ = std::max(end_ns_, report.end_ns());
  iteration_ = std::max(iteration_, report.iteration());
  samples_ += report.samples();
  bytes_ += bytes;
  stall_seconds_ += stall;
  communication_seconds_ += static_cast<double>(report.communication_ns()) * kSecondsPerNs;
  Worker& of = workers_[worker];
  of.iteration = std::max(of.iteration, report.iteration());
  of.epoch = std::max(of.epoch, report.epoch());
  of.sent_bytes += report.sent_bytes();
  of.received_bytes += report.received_bytes();
  staleness_sum_ += report.staleness_iterations();
  staleness_max_ = std::max(staleness_max_, report.staleness_iterations());
  iteration_seconds_.push_back(seconds);
  for (const v1::Transfer& transfer : report.transfers()) {
    GroupTotals& group = groups_[transfer.group()];
    ++group.transfers;
    group.push_bytes += transfer.push_bytes();
    group.pull_bytes += transfer.pull_bytes();
    group.overruns += transfer.overrun() ? 1 : 0;
    group.transfer_seconds += static_cast<double>(transfer.end_ns() - transfer.granted_ns()) * kSecondsPerNs;
    group.grant_wait_seconds += static_cast<double>(transfer.granted_ns() - transfer.start_ns()) * kSecondsPerNs;
    group.late_seconds += static_cast<double>(transfer.start_ns() - transfer.planned_start_ns()) * kSecondsPerNs;
  }

  // One worker whose loss is not a number must not hide the others'.
  const bool finite = std::isfinite(report.loss_sum());
  recent_.push_back({.end_ns = report.end_ns(),
                     .seconds = seconds,
                     .stall_seconds = stall,
                     .bytes = bytes,
                     .loss_sum = finite ? report.loss_sum() : 0,
                     .predictions = finite ? report.predictions() : 0,
                     .not_finite = !finite});
  // Ranks report one after the other, so the ends are nearly in order only; that much is enough for a window.
  while (recent_.size() > 1 && recent_.front().end_ns < end_ns_ - kRecentNs) recent_.pop_front();
}

void RunStatistics::AddEvaluation(const v1::EvaluationResult& evaluation) {
  accuracy_ = evaluation.accuracy();
  evaluation_loss_ = evaluation.loss();
  if (evaluation.has_worst_accuracy()) worst_accuracy_ = evaluation.worst_accuracy();
  // Where no model is finite, there is none any more.
  if (evaluation.has_model_variance()) {
    model_variance_ = evaluation.model_variance();
  } else if (evaluation.not_finite_size() > 0) {
    model_variance_.reset();
  }
}

double RunStatistics::recent_iteration_seconds() const {
  std::vector<double> seconds;
  seconds.reserve(recent_.size());
  for (const Recent& recent : recent_) seconds.push_back(recent.seconds);
  return QuantilesOf(std::move(seconds)).median;
}

double RunStatistics::recent_mean_seconds() const {
  double sum = 0;
  for (const Recent& recent : recent_) sum += recent.seconds;
  return recent_.empty() ? 0 : sum / static_cast<double>(recent_.size());
}

v1::Progress RunStatistics::Now(std::int64_t iterations_per_epoch, std::int64_t iterations,
                                double compute_seconds) const {
  v1::Progress progress;
  const std::int64_t an_epoch = std::max<std::int64_t>(iterations_per_epoch, 1);
  progress.set_epochs((iterations + an_epoch - 1) / an_epoch);
  // The slowest worker's: the run is as far as that one.
  Worker slowest{.iteration = iteration_};
  for (const auto& [rank, worker] : workers_) {
    const bool reported = worker.epoch > 0;
    if (reported && worker.iteration <= slowest.iteration) slowest = worker;
  }
  const std::int64_t iteration = slowest.iteration;
  progress.set_epoch(slowest.epoch);
  progress.set_iteration(iteration);
  if (model_variance_.has_value()) progress.set_model_variance(*model_variance_);
  progress.set_iterations(iterations);
  progress.set_accuracy(accuracy_);
  progress.set_compute_seconds(compute_seconds);
  Recent sum;
  std::int64_t from_ns = end_ns_;
  for (const Recent& recent : recent_) {
    from_ns = std::min(from_ns, recent.end_ns - static_cast<std::int64_t>(recent.seconds / kSecondsPerNs));
    sum.seconds += recent.seconds;
    sum.stall_seconds += recent.stall_seconds;
    sum.bytes += recent.bytes;
    sum.loss_sum += recent.loss_sum;
    sum.predictions += recent.predictions;
    sum.not_finite = sum.not_finite || recent.not_finite;
  }
  if (sum.predictions == 0 && sum.not_finite) progress.set_loss(std::numeric_limits<double>::quiet_NaN());
  if (sum.predictions > 0) progress.set_loss(sum.loss_sum / static_cast<double>(sum.predictions));
  if (sum.seconds > 0) progress.set_stall_fraction(sum.stall_seconds / sum.seconds);
  if (end_ns_ > from_ns) {
    progress.set_bytes_per_second(static_cast<double>(sum.bytes) /
                                  (static_cast<double>(end_ns_ - from_ns) * kSecondsPerNs));
  }
  progress.set_iteration_seconds(recent_iteration_seconds());
  progress.set_seconds_left(recent_mean_seconds() *
                            static_cast<double>(std::max<std::int64_t>(iterations - iteration, 0)));
  return progress;
}

void RunStatistics::AddExchanges(RunTotals* totals) const {
  for (const auto& [worker, report] : exchanges_) {
    for (const v1::ExchangeReport::Interactions& one : report.interactions()) {
      totals->interactions[one.result()] += one.count();
    }
    totals->further_digit_blocks += report.further_digit_blocks();
    totals->raw_blocks += report.raw_blocks();
    totals->mechanism = report.mechanism();
    totals->mechanism_reason = report.mechanism_reason();
  }
  if (const auto averaged = totals->interactions.find("averaged"); averaged != totals->interactions.end()) {
    totals->parallel_time = static_cast<double>(averaged->second) / static_cast<double>(exchanges_.size());
  }
}

RunTotals RunStatistics::Totals(std::int64_t iterations_per_epoch) const {
  RunTotals totals;
  totals.iterations = SlowestIteration();
  totals.epochs = totals.iterations / std::max<std::int64_t>(iterations_per_epoch, 1);
  totals.accuracy = accuracy_;
  totals.loss = accuracy_ >= 0 ? evaluation_loss_ : Now(0, 0, 0).loss();
  totals.samples = samples_;
  totals.seconds = static_cast<double>(end_ns_ - start_ns_) * kSecondsPerNs;
  totals.iteration_seconds = QuantilesOf(iteration_seconds_);
  double seconds = 0;
  for (const double one : iteration_seconds_) seconds += one;
  if (seconds > 0) totals.stall_fraction = stall_seconds_ / seconds;
  if (iteration_ > first_)
    totals.bytes_per_iteration = static_cast<double>(bytes_) / static_cast<double>(iteration_ - first_);
  if (!iteration_seconds_.empty())
    totals.staleness_mean = staleness_sum_ / static_cast<double>(iteration_seconds_.size());
  totals.staleness_max = staleness_max_;
  if (!iteration_seconds_.empty()) {
    const auto batches = static_cast<double>(iteration_seconds_.size());
    totals.communication_per_batch_seconds = communication_seconds_ / batches;
    totals.compute_per_batch_seconds = (seconds - communication_seconds_) / batches;
  }
  for (const auto& [rank, worker] : workers_) {
    totals.sent_bytes.push_back(worker.sent_bytes);
    totals.received_bytes.push_back(worker.received_bytes);
  }
  totals.model_variance = model_variance_;
  totals.worst_accuracy = worst_accuracy_;
  totals.groups = groups_;
  AddExchanges(&totals);
  return totals;
}

}  // namespace weft
