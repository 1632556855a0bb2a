// Transfers that share ports: the simulator's network.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "coordinator/planner/links.h"

namespace weft {

enum class Direction { kPush, kPull };  // to the server, to the worker

// What moves through the ports at one moment. A flow's rate is the least of its link's and of an even share of the two
// ports that it goes through, in each of its directions.
class Flows {
 public:
  struct Flow {
    int worker = 0;
    int server = 0;
    bool push = false;
    bool pull = false;
    double bytes_left = 0;
    double rate = 0;  // bytes a microsecond
    std::size_t tag = 0;
  };

  Flows(const LinkTable& links, int workers, int servers);

  void Add(Flow flow);
  // How long until the first flow ends; infinity when none moves.
  double UntilFirstEnd() const { return until_first_end_; }
  // Moves everything on by `us`, at most UntilFirstEnd(), and returns the flows that ended. The reference is valid
  // until the next call.
  const std::vector<Flow>& Advance(double us);

  // Flows in this direction at a server, and their joint rate.
  int CountAt(int server, Direction direction) const { return server_count_[Index(direction)][Size(server)]; }
  double RateAt(int server, Direction direction) const { return server_rate_[Index(direction)][Size(server)]; }

 private:
  static std::size_t Index(Direction direction) { return static_cast<std::size_t>(direction); }
  static std::size_t Size(int value) { return static_cast<std::size_t>(value); }
  double LinkRate(int worker, int server) const;
  void SetRates();

  const LinkTable& links_;
  std::vector<double> worker_rate_;  // of the ports
  std::vector<double> port_rate_;    // of the servers' ports
  std::vector<Flow> moving_;
  std::vector<Flow> ended_;
  std::array<std::vector<int>, 2> worker_count_;
  std::array<std::vector<int>, 2> server_count_;
  std::array<std::vector<double>, 2> server_rate_;
  double until_first_end_ = std::numeric_limits<double>::infinity();
};

}  // namespace weft
