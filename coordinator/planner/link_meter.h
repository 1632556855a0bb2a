// What the simulated servers' links do over time.
#pragma once

#include <array>
#include <vector>

#include "coordinator/planner/flows.h"

namespace weft {

class LinkMeter {
 public:
  explicit LinkMeter(int servers) : servers_(static_cast<std::size_t>(servers)) {}

  // One transfer more or less at this server, its latency included.
  void Serve(int server, int change) { servers_[static_cast<std::size_t>(server)].serving += change; }
  // The flows move as they do now for so long.
  void Advance(const Flows& flows, double us);

  // Of the busiest server, 0 to 1.
  double busy_share() const;
  double concurrent_share() const;
  // Of any server and direction.
  double peak_bytes_per_second() const;

 private:
  struct Server {
    int serving = 0;
    double busy_us = 0;
    double concurrent_us = 0;
    std::array<double, 2> window_bytes{};  // by direction, in the window that is open
    std::array<double, 2> peak_bytes{};    // of a closed window
  };

  std::vector<Server> servers_;
  double elapsed_us_ = 0;
  double window_us_ = 0;  // of the open window, gone by
};

}  // namespace weft
