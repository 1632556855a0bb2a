// Transfers that share links, as fluid: each flow goes from one rank's egress to another's ingress, and the rates are
// max-min fair (no flow can get more without taking from one that has less). Between two events all rates are constant,
// so ends are exact and nothing drifts however late the caller looks. Pure: time comes in as an argument.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "common/clock.h"

namespace weft {

// A rank's link to the network. It is full duplex: the two directions do not touch each other.
struct LinkModel {
  double egress_bytes_per_second = 0;   // 0: unlimited
  double ingress_bytes_per_second = 0;  // 0: unlimited
  Duration latency{};                   // from when the last byte left this rank until it is at the other
};

struct TrafficCount {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
};

// What went over one direction of a rank's link. Messages and bytes count when a message has left whole.
struct LinkStatistics {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
  std::array<TrafficCount, 8> by_kind{};  // the same, by MessageKind
  double busy_seconds = 0;                // with at least one transfer
  double concurrent_seconds = 0;          // with more than one
  double peak_bytes_per_second = 0;       // the most in one of the consecutive windows of 10 ms
};

struct RankStatistics {
  double elapsed_seconds = 0;  // since the start or the last reset
  LinkStatistics egress;
  LinkStatistics ingress;
};

// Not thread-safe. Times given to it must not decrease. A flow from a rank to itself, one without bytes and one between
// unlimited links take no time.
class FluidNetwork {
 public:
  static constexpr Duration kPeakWindow = std::chrono::milliseconds(10);

  struct Flow {
    std::int64_t id = 0;
    int from = 0;
    int to = 0;
    int kind = 0;  // a MessageKind, for the statistics
    std::int64_t bytes = 0;
  };

  FluidNetwork(std::vector<LinkModel> links, TimePoint start);

  void Start(const Flow& flow, TimePoint now);
  // Takes a flow away without an end. No effect when there is none with this id.
  void Remove(std::int64_t id, TimePoint now);

  // When the next flow ends if nothing else happens.
  std::optional<TimePoint> NextEnd() const;
  // Moves time on. Checks that no flow ends before `now`.
  void AdvanceTo(TimePoint now);
  // One flow that has ended by the time of the last call; it is gone then.
  std::optional<std::int64_t> TakeEnded();

  const LinkModel& link(int rank) const { return links_[static_cast<std::size_t>(rank)]; }
  RankStatistics Statistics(int rank) const;
  void ResetStatistics();

 private:
  struct ActiveFlow {
    Flow flow;
    double remaining_bytes = 0;
    double bytes_per_second = 0;
    TimePoint end{};
  };
  struct Direction {
    double capacity = 0;  // 0: unlimited
    int active = 0;
    double bytes_per_second = 0;  // sum of the active flows' rates
    LinkStatistics statistics;
    double window_bytes = 0;  // in the window that now_ lies in
  };

  Direction& egress(int rank) { return directions_[2 * static_cast<std::size_t>(rank)]; }
  Direction& ingress(int rank) { return directions_[2 * static_cast<std::size_t>(rank) + 1]; }
  void Recompute();
  void Count(const Flow& flow);
  void CountWindows(Direction& direction, TimePoint from, TimePoint to);
  void CloseWindow(Direction& direction);

  const std::vector<LinkModel> links_;
  TimePoint now_;
  TimePoint statistics_start_;
  std::vector<ActiveFlow> active_;  // their remaining bytes hold for now_
  std::vector<std::int64_t> ended_;
  std::vector<Direction> directions_;  // egress of rank 0, ingress of rank 0, egress of rank 1, …
};

}  // namespace weft
