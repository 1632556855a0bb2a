// What the workers and servers of the three parameter-server strategies are told beside the plan.
#pragma once

#include <cstdint>
#include <optional>

#include "common/clock.h"
#include "common/plan/plan.h"
#include "common/status.h"

namespace weft {

struct ParameterServerOptions {
  std::uint64_t generation = 1;        // of the membership; a message of an older one is refused
  double center_rate = 0.9;            // beta: how far a round moves the centre towards the workers' mean
  std::optional<double> elastic_rate;  // alpha: how far a worker moves towards the centre; default center_rate / K
  Apply apply = Apply::kDeadline;
  // Interleaved only: the server lets one worker at a time use its link. Off, a transfer starts at its slot whatever
  // else is under way.
  bool admission = true;
  // How long to wait for a peer before the run ends with DEADLINE_EXCEEDED.
  Duration peer_timeout = std::chrono::seconds(30);
  // Worker: from the start of an iteration to the start of backward, as the plan's timeline has it; slots are counted
  // from there. Not given: the plan's earliest window starts the iteration, which holds for whole-iteration windows.
  std::optional<Duration> forward_time;

  double ElasticRate(int workers) const { return elastic_rate.value_or(center_rate / workers); }
};

// INVALID_ARGUMENT: a strategy that is not a parameter server's, no worker or server, a rate outside [0, 2), rates that
// together reach 2 (unstable), more shards than a tag can number, a shard outside of its group, server or weights, or
// a time-out that is not positive. `parameter_count` floats in all.
Status ValidateParameterServer(const ParameterServerOptions& options, const Plan& plan, std::int64_t parameter_count);

}  // namespace weft
