// What the coordinator derives from the job: what is measured, what the planner is asked, which plans fit.
#pragma once

#include <cstdint>
#include <string>

#include "common/job/job_spec.h"
#include "common/plan/plan.h"
#include "common/status.h"
#include "coordinator/membership/generation.h"
#include "coordinator/planner/planner.h"
#include "coordinator/service/measurements.h"

namespace weft {

// No worker waits for another's iterations. Never with one worker, who has nobody to wait for.
bool IsAsynchronous(const Plan& plan);

// A number of iterations that take about a second as predicted: workers whose models differ sketch them so often. 0 for
// a strategy that keeps them alike.
std::int64_t SketchPeriod(const Plan& plan);

// Links to servers, to the next worker, or with Auto both are measured. The rest of the options is the caller's.
void SetMeasurements(const JobSpec& job, GenerationOptions& options);

// The overlay graph that the strategy exchanges over, as the job names it: "Ring"; empty where it has none.
std::string TopologyName(const JobSpec& job, StrategyType strategy);

// The planner's request but for what is measured. Errors: a topology that is not one for so many workers.
Result<PlanRequest> SettingsOf(const JobSpec& job);
Result<PlanRequest> RequestFor(const JobSpec& job, const Measurements& measurements);

// INVALID_ARGUMENT: the plan is for another strategy or for other numbers of workers or servers than the job.
Status CheckPlanFits(const Plan& plan, const JobSpec& job);

}  // namespace weft
