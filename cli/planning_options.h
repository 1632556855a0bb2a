// What `weft plan` and `weft simulate` have in common: a timeline file, the size of the job, its strategy
// and uniform links.
#pragma once

#include <optional>
#include <string>

#include "common/status.h"
#include "coordinator/planner/planner.h"

namespace CLI {
class App;
}

namespace weft {

struct PlanningOptions {
  std::string timeline;
  std::string strategy;  // empty: the command's own default
  int workers = 1;
  int servers = 1;
  int period = 0;
  std::string fusion;
  std::string phase = "figure";
  std::string window = "whole-iteration";
  std::string tail = "measured";
  std::string apply = "deadline";
  double alpha_us = 100;
  double bandwidth_mbps = 1000;
  std::optional<double> peer_alpha_us;        // alpha_us
  std::optional<double> peer_bandwidth_mbps;  // bandwidth_mbps
  int local_steps = 4;
  int bits = 8;
  std::string topology;  // empty: the job's defaults
  int degree = 0;
  std::string order = "combine-then-adapt";
  int overlap = 1;
  int max_staleness = 8;
  bool json = false;
};

// Adds the options to a subcommand; `options` outlives it.
void AddPlanningOptions(CLI::App* command, PlanningOptions* options);

// The request that the options ask for, with the timeline read from its file.
// INVALID_ARGUMENT: a value is refused, or the file can't be read or its text is refused, with its place.
Result<PlanRequest> ReadPlanRequest(const PlanningOptions& options);

}  // namespace weft
