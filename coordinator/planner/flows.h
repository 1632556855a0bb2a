// Transfers that share ports: the simulators' network.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "coordinator/planner/links.h"

namespace weft {

enum class Direction { kIn, kOut };  // of a rank's port

// Bytes a microsecond. A link that takes no time a byte has a rate at which a petabyte takes a microsecond, so that the
// arithmetic stays finite.
double RateOf(const Link& link);

// What moves through the ranks' ports at one moment. A flow's rate is the least of its link's and of an even share of
// the ports that it goes through, in each of its directions.
class Flows {
 public:
  struct Flow {
    int from = 0;
    int to = 0;
    bool forth = true;  // moves from `from` to `to`
    bool back = false;  // and as many bytes the other way, at the same rate
    double link_rate = 0;
    double bytes_left = 0;
    double rate = 0;  // bytes a microsecond
    std::size_t tag = 0;
  };

  // By rank, in each direction: bytes a microsecond.
  explicit Flows(std::vector<double> port_rates);

  void Add(Flow flow);
  // How long until the first flow ends; infinity when none moves.
  double UntilFirstEnd();
  // Moves everything on by `us`, at most UntilFirstEnd(), and returns the flows that ended. The reference is valid
  // until the next call.
  const std::vector<Flow>& Advance(double us);

  // Flows in this direction at a rank, and their joint rate (as of the last call of one of the two above).
  int CountAt(int rank, Direction direction) const { return ports_[Size(rank)].count[Index(direction)]; }
  double RateAt(int rank, Direction direction) const { return ports_[Size(rank)].rate[Index(direction)]; }

 private:
  struct Port {
    double capacity = 0;
    std::array<int, 2> count{};
    std::array<double, 2> rate{};
  };

  static std::size_t Index(Direction direction) { return static_cast<std::size_t>(direction); }
  static std::size_t Size(int value) { return static_cast<std::size_t>(value); }
  void Count(const Flow& flow, int change);
  void SetRates();

  std::vector<Port> ports_;
  std::vector<Flow> moving_;
  std::vector<Flow> ended_;
  bool stale_ = false;  // the rates are of other flows than these
  double until_first_end_ = std::numeric_limits<double>::infinity();
};

// By rank, workers first: a port is as fast as the fastest of its links.
std::vector<double> PortRates(const LinkTable& links, int workers, int servers);
std::vector<double> PortRates(const PeerLinks& links, int workers);

}  // namespace weft
