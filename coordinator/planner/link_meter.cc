#include "coordinator/planner/link_meter.h"

#include <algorithm>

namespace weft {
namespace {

constexpr double kWindowUs = 10'000;

}  // namespace

void LinkMeter::Advance(const Flows& flows, double us) {
  elapsed_us_ += us;
  const bool closes = window_us_ + us >= kWindowUs;
  const double in_window = closes ? kWindowUs - window_us_ : us;
  // Of what goes beyond the open window, whole windows and the beginning of the next.
  const double beyond = closes ? us - in_window : 0;
  const bool whole = beyond >= kWindowUs;
  const double rest = beyond - kWindowUs * static_cast<double>(static_cast<long long>(beyond / kWindowUs));
  for (std::size_t s = 0; s < ranks_.size(); ++s) {
    Rank& rank = ranks_[s];
    if (rank.serving > 0) rank.busy_us += us;
    bool concurrent = false;
    for (const Direction direction : {Direction::kIn, Direction::kOut}) {
      const auto d = static_cast<std::size_t>(direction);
      const double rate = flows.RateAt(first_ + static_cast<int>(s), direction);
      concurrent = concurrent || flows.CountAt(first_ + static_cast<int>(s), direction) > 1;
      rank.window_bytes[d] += rate * in_window;
      if (!closes) continue;
      rank.peak_bytes[d] = std::max(rank.peak_bytes[d], rank.window_bytes[d]);
      if (whole) rank.peak_bytes[d] = std::max(rank.peak_bytes[d], rate * kWindowUs);
      rank.window_bytes[d] = rate * rest;
    }
    if (concurrent) rank.concurrent_us += us;
  }
  window_us_ = closes ? rest : window_us_ + us;
}

double LinkMeter::busy_share() const {
  double most = 0;
  for (const Rank& rank : ranks_) most = std::max(most, rank.busy_us);
  return elapsed_us_ > 0 ? most / elapsed_us_ : 0;
}

double LinkMeter::concurrent_share() const {
  double most = 0;
  for (const Rank& rank : ranks_) most = std::max(most, rank.concurrent_us);
  return elapsed_us_ > 0 ? most / elapsed_us_ : 0;
}

double LinkMeter::peak_bytes_per_second() const {
  double most = 0;
  for (const Rank& rank : ranks_) {
    for (const double bytes : rank.peak_bytes) most = std::max(most, bytes);
  }
  return most / (kWindowUs * 1e-6);
}

}  // namespace weft
