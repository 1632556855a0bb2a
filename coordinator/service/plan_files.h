// The plans of a run on disk: plan.json, the one that holds, and plans/plan-<iteration>.json, each that has held, by
// the iteration from which it did, and each that the run was given to hold later. docs/format/plan.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/job/job_spec.h"
#include "common/plan/plan.h"
#include "common/status.h"

namespace weft {

// True for the strategies whose plan can change during a run: nothing of what they learn depends on when it does, but
// for InterleavedPS's period.
bool CanChangePlan(StrategyType strategy);

// The plan of a file; or of a folder of plan-<iteration>.json the one that holds behind iteration `start_iteration`,
// and then those that take its place later. Errors: of the files, with their names; INVALID_ARGUMENT: not a plan for
// this job, a folder without a plan for the start, or plans of several strategies, or of one that can't change.
Result<std::vector<Plan>> ReadPlans(const std::string& path, std::int64_t start_iteration, const JobSpec& job);

// INVALID_ARGUMENT: between one of the plans and an evaluation behind it lie fewer iterations than the period of the
// plan before it, so that servers may have taken that evaluation's model before. `plans` as ReadPlans returns them.
Status CheckChanges(const std::vector<Plan>& plans, std::int64_t iterations_per_epoch);

// Into the run directory's plans/ alone: of one that is to hold later. Errors as WriteFileAtomically.
Status KeepPlan(const std::string& run_directory, const Plan& plan);

// Into the run directory, as both files: of the one that holds. Errors as WriteFileAtomically.
Status WritePlan(const std::string& run_directory, const Plan& plan);

}  // namespace weft
