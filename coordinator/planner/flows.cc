#include "coordinator/planner/flows.h"

#include <algorithm>

namespace weft {
namespace {

// Of a link that takes no time a byte: the arithmetic stays finite, and a petabyte takes a microsecond.
constexpr double kUnlimited = 1e15;
constexpr double kTogetherUs = 1e-3;

}  // namespace

Flows::Flows(const LinkTable& links, int workers, int servers)
    : links_(links), worker_rate_(Size(workers), 0), port_rate_(Size(servers), 0) {
  for (int w = 0; w < workers; ++w) {
    for (int s = 0; s < servers; ++s) {
      worker_rate_[Size(w)] = std::max(worker_rate_[Size(w)], LinkRate(w, s));
      port_rate_[Size(s)] = std::max(port_rate_[Size(s)], LinkRate(w, s));
    }
  }
  for (std::size_t d = 0; d < 2; ++d) {
    worker_count_[d].assign(Size(workers), 0);
    server_count_[d].assign(Size(servers), 0);
    server_rate_[d].assign(Size(servers), 0);
  }
}

double Flows::LinkRate(int worker, int server) const {
  const double us_per_byte = links_.at(worker, server).us_per_byte;
  return us_per_byte > 1 / kUnlimited ? 1 / us_per_byte : kUnlimited;
}

void Flows::Add(Flow flow) {
  moving_.push_back(flow);
  for (const Direction direction : {Direction::kPush, Direction::kPull}) {
    if (!(direction == Direction::kPush ? flow.push : flow.pull)) continue;
    ++worker_count_[Index(direction)][Size(flow.worker)];
    ++server_count_[Index(direction)][Size(flow.server)];
  }
  SetRates();
}

const std::vector<Flows::Flow>& Flows::Advance(double us) {
  ended_.clear();
  // Whatever rounding left of it, the first flow has ended, and those that would within a nanosecond of it.
  const bool first_ends = us >= until_first_end_;
  double least_us = std::numeric_limits<double>::infinity();
  for (Flow& flow : moving_) {
    flow.bytes_left -= flow.rate * us;
    least_us = std::min(least_us, flow.bytes_left / flow.rate);
  }
  std::size_t kept = 0;
  for (const Flow& flow : moving_) {
    if (first_ends && flow.bytes_left / flow.rate <= std::max(0.0, least_us) + kTogetherUs) {
      ended_.push_back(flow);
      for (const Direction direction : {Direction::kPush, Direction::kPull}) {
        if (!(direction == Direction::kPush ? flow.push : flow.pull)) continue;
        --worker_count_[Index(direction)][Size(flow.worker)];
        --server_count_[Index(direction)][Size(flow.server)];
      }
    } else {
      moving_[kept++] = flow;
    }
  }
  moving_.resize(kept);
  if (ended_.empty()) {
    until_first_end_ -= us;
  } else {
    SetRates();
  }
  return ended_;
}

void Flows::SetRates() {
  for (auto& rates : server_rate_) std::fill(rates.begin(), rates.end(), 0);
  until_first_end_ = std::numeric_limits<double>::infinity();
  for (Flow& flow : moving_) {
    double rate = LinkRate(flow.worker, flow.server);
    for (std::size_t d = 0; d < 2; ++d) {
      if (!(d == 0 ? flow.push : flow.pull)) continue;
      rate = std::min(rate, worker_rate_[Size(flow.worker)] / worker_count_[d][Size(flow.worker)]);
      rate = std::min(rate, port_rate_[Size(flow.server)] / server_count_[d][Size(flow.server)]);
    }
    flow.rate = rate;
    for (std::size_t d = 0; d < 2; ++d) {
      if (d == 0 ? flow.push : flow.pull) server_rate_[d][Size(flow.server)] += rate;
    }
    until_first_end_ = std::min(until_first_end_, std::max(0.0, flow.bytes_left) / rate);
  }
}

}  // namespace weft
