// When each group's transfers may run: the paper's Algorithm 1, or windows over the whole iteration.
#pragma once

#include <span>
#include <vector>

#include "common/plan/plan.h"

namespace weft {

// [from, to) in microseconds from the start of backward, divided evenly among the workers.
struct Window {
  double from_us = 0;
  double to_us = 0;
  double slot_us = 0;
};

// Algorithm 1 of the paper, 0-based. `starts_us[n]` is the backward start of group n's first layer in backward order,
// `forward_us[n]` the forward time of all its layers, `end_us` the end of backward.
//   from = n+1 < N ? starts[n+1] : end
//   to   = n+1+T < N ? starts[n+1+T] : n+1+T == N ? end : end + tail
//   tail = Half: (end - from) / 2; Measured: the forward time of the groups behind n, which the next forward does first
//   slot = (to - from) / P
// Of two groups T apart the later window begins where the earlier ends.
std::vector<Window> WindowsAfterBackward(std::span<const double> starts_us, std::span<const double> forward_us,
                                         double end_us, int period, int workers, Tail tail);

// What one worker's transfer of a group, or of the part of it that a server keeps, takes.
struct ShardCost {
  int server = 0;
  double cost_us = 0;
};

// Tiles [start_us, start_us + length_us) with the groups of each phase (those whose indices are equal mod T), the
// highest index first (its next forward comes first), in proportion to their transfer times. With several servers each
// one's groups tile the iteration; a group on more than one server spans its parts. Groups that cost nothing get all.
std::vector<Window> WindowsOverIteration(std::span<const std::vector<ShardCost>> groups, int period, int servers,
                                         int workers, double start_us, double length_us);

}  // namespace weft
