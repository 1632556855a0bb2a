// What the simulated ports of some ranks do over time.
#pragma once

#include <array>
#include <vector>

#include "coordinator/planner/flows.h"

namespace weft {

class LinkMeter {
 public:
  // Watches the ranks first..first+count-1.
  LinkMeter(int first, int count) : first_(first), ranks_(static_cast<std::size_t>(count)) {}

  // One transfer more or less at this rank, its latency included.
  void Serve(int rank, int change) { ranks_[static_cast<std::size_t>(rank - first_)].serving += change; }
  // The flows move as they do now for so long.
  void Advance(const Flows& flows, double us);

  // Of the busiest rank, 0 to 1.
  double busy_share() const;
  double concurrent_share() const;
  // Of any rank and direction.
  double peak_bytes_per_second() const;

 private:
  struct Rank {
    int serving = 0;
    double busy_us = 0;
    double concurrent_us = 0;
    std::array<double, 2> window_bytes{};  // by direction, in the window that is open
    std::array<double, 2> peak_bytes{};    // of a closed window
  };

  const int first_;
  std::vector<Rank> ranks_;
  double elapsed_us_ = 0;
  double window_us_ = 0;  // of the open window, gone by
};

}  // namespace weft
