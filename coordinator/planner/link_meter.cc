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
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    Server& server = servers_[s];
    if (server.serving > 0) server.busy_us += us;
    bool concurrent = false;
    for (const Direction direction : {Direction::kPush, Direction::kPull}) {
      const auto d = static_cast<std::size_t>(direction);
      const double rate = flows.RateAt(static_cast<int>(s), direction);
      concurrent = concurrent || flows.CountAt(static_cast<int>(s), direction) > 1;
      server.window_bytes[d] += rate * in_window;
      if (!closes) continue;
      server.peak_bytes[d] = std::max(server.peak_bytes[d], server.window_bytes[d]);
      if (whole) server.peak_bytes[d] = std::max(server.peak_bytes[d], rate * kWindowUs);
      server.window_bytes[d] = rate * rest;
    }
    if (concurrent) server.concurrent_us += us;
  }
  window_us_ = closes ? rest : window_us_ + us;
}

double LinkMeter::busy_share() const {
  double most = 0;
  for (const Server& server : servers_) most = std::max(most, server.busy_us);
  return elapsed_us_ > 0 ? most / elapsed_us_ : 0;
}

double LinkMeter::concurrent_share() const {
  double most = 0;
  for (const Server& server : servers_) most = std::max(most, server.concurrent_us);
  return elapsed_us_ > 0 ? most / elapsed_us_ : 0;
}

double LinkMeter::peak_bytes_per_second() const {
  double most = 0;
  for (const Server& server : servers_) {
    for (const double bytes : server.peak_bytes) most = std::max(most, bytes);
  }
  return most / (kWindowUs * 1e-6);
}

}  // namespace weft
