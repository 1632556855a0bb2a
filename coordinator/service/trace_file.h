// trace.json, in Chrome's trace event format: per worker its compute, the slots and the transfers.
// docs/format/run-directory.md has each field.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "common/plan/plan.h"
#include "proto/coordinator.pb.h"

namespace weft {

// Bounded: the first and the last reports of a run. Not thread-safe.
class TraceCollector {
 public:
  void Add(int rank, const v1::IterationReport& report);
  // A thread's slices are in the order of their starts, and each ends before the next begins or encloses it, which is
  // all that viewers draw: slices of one group that overlap are put on several threads.
  // `plans` have held, in this order.
  std::string ToJson(const std::vector<Plan>& plans) const;

 private:
  static constexpr std::size_t kFirstReports = 1000;
  static constexpr std::size_t kLastReports = 1000;

  std::vector<std::pair<int, v1::IterationReport>> first_;
  std::deque<std::pair<int, v1::IterationReport>> last_;
};

}  // namespace weft
