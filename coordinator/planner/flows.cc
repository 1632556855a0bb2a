#include "coordinator/planner/flows.h"

#include <algorithm>

namespace weft {
namespace {

constexpr double kUnlimited = 1e15;
constexpr double kTogetherUs = 1e-3;

}  // namespace

double RateOf(const Link& link) { return link.us_per_byte > 1 / kUnlimited ? 1 / link.us_per_byte : kUnlimited; }

Flows::Flows(std::vector<double> port_rates) : ports_(port_rates.size()) {
  for (std::size_t i = 0; i < ports_.size(); ++i) ports_[i].capacity = port_rates[i];
}

void Flows::Count(const Flow& flow, int change) {
  Port& from = ports_[Size(flow.from)];
  Port& to = ports_[Size(flow.to)];
  if (flow.forth) {
    from.count[Index(Direction::kOut)] += change;
    to.count[Index(Direction::kIn)] += change;
  }
  if (flow.back) {
    to.count[Index(Direction::kOut)] += change;
    from.count[Index(Direction::kIn)] += change;
  }
}

void Flows::Add(Flow flow) {
  moving_.push_back(flow);
  Count(flow, +1);
  stale_ = true;  // many may begin at one moment
}

double Flows::UntilFirstEnd() {
  if (stale_) SetRates();
  return until_first_end_;
}

const std::vector<Flows::Flow>& Flows::Advance(double us) {
  ended_.clear();
  if (stale_) SetRates();
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
      Count(flow, -1);
    } else {
      moving_[kept++] = flow;
    }
  }
  moving_.resize(kept);
  until_first_end_ -= us;
  stale_ = !ended_.empty();
  return ended_;
}

void Flows::SetRates() {
  stale_ = false;
  for (Port& port : ports_) port.rate = {};
  until_first_end_ = std::numeric_limits<double>::infinity();
  for (Flow& flow : moving_) {
    Port& from = ports_[Size(flow.from)];
    Port& to = ports_[Size(flow.to)];
    double rate = flow.link_rate;
    const auto share = [&](const Port& port, Direction direction) {
      rate = std::min(rate, port.capacity / port.count[Index(direction)]);
    };
    if (flow.forth) {
      share(from, Direction::kOut);
      share(to, Direction::kIn);
    }
    if (flow.back) {
      share(to, Direction::kOut);
      share(from, Direction::kIn);
    }
    flow.rate = rate;
    if (flow.forth) {
      from.rate[Index(Direction::kOut)] += rate;
      to.rate[Index(Direction::kIn)] += rate;
    }
    if (flow.back) {
      to.rate[Index(Direction::kOut)] += rate;
      from.rate[Index(Direction::kIn)] += rate;
    }
    until_first_end_ = std::min(until_first_end_, std::max(0.0, flow.bytes_left) / rate);
  }
}

std::vector<double> PortRates(const LinkTable& links, int workers, int servers) {
  std::vector<double> rates(static_cast<std::size_t>(workers + servers), 0);
  for (int w = 0; w < workers; ++w) {
    for (int s = 0; s < servers; ++s) {
      const double rate = RateOf(links.at(w, s));
      for (const int rank : {w, workers + s}) {
        double& port = rates[static_cast<std::size_t>(rank)];
        port = std::max(port, rate);
      }
    }
  }
  return rates;
}

std::vector<double> PortRates(const PeerLinks& links, int workers) {
  std::vector<double> rates;
  for (int w = 0; w < workers; ++w) rates.push_back(RateOf(links.of(w)));
  return rates;
}

}  // namespace weft
