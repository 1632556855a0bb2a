// How each rank does, from what it says: its part of the progress that watchers see (proto/coordinator.proto).
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "common/clock.h"
#include "proto/coordinator.pb.h"

namespace weft {

// Not thread-safe. Keeps the last second of each rank's reports.
class RankBoard {
 public:
  RankBoard(int workers, int servers, TimePoint now);

  // A message of rank `rank`, which is in the world; nothing else is expected of it.
  void Add(int rank, const v1::AgentMessage& message, TimePoint now);
  // Sets `ranks` and `samples_per_second`.
  void Fill(TimePoint now, v1::Progress* progress) const;

 private:
  struct Exchanged {
    std::int64_t push_bytes = 0;
    std::int64_t pull_bytes = 0;
  };
  struct Iteration {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t stall_ns = 0;
    std::int64_t sent_bytes = 0;
    std::int64_t received_bytes = 0;
    std::int64_t samples = 0;
    double staleness = 0;
    std::vector<Exchanged> servers = {};  // by index; empty: nothing with any
  };
  struct Rank {
    v1::RankState state = v1::RANK_STATE_UNSPECIFIED;
    TimePoint heard;
    std::int64_t iteration = 0;
    double link_bytes_per_second = 0;
    std::deque<Iteration> recent;  // of a worker; its times are of its host's clock
  };
  void AddReport(Rank* rank, const v1::IterationReport& report, TimePoint now);
  void AddLink(Rank* rank, const v1::LinkResult& link);
  // The seconds that its recent iterations span; 0: none.
  static double SpanOf(const Rank& rank);
  void DescribeRecent(const Rank& rank, v1::RankProgress* told) const;

  const std::size_t workers_;
  std::vector<Rank> ranks_;  // workers, then servers
};

}  // namespace weft
