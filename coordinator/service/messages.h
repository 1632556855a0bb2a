// A generation's actions as messages of proto/coordinator.proto, and messages as the planner takes them.
#pragma once

#include "coordinator/membership/action.h"
#include "coordinator/planner/drift.h"
#include "proto/coordinator.pb.h"

namespace weft {

// What the planner needs of a worker's iteration.
MeasuredIteration ToMeasured(int rank, const v1::IterationReport& report);

v1::CoordinatorMessage ToMessage(const SendMeasureProfile& action);
v1::CoordinatorMessage ToMessage(const SendMeasureLink& action);
v1::CoordinatorMessage ToMessage(const SendProposePause& action);
v1::CoordinatorMessage ToMessage(const SendCommitPause& action);
v1::CoordinatorMessage ToMessage(const SendCancelPause& action);
v1::CoordinatorMessage ToMessage(const SendVerdict& action);
v1::CoordinatorMessage ToMessage(const SendFinishNow& action);
v1::CoordinatorMessage ToMessage(const SendExit& action);

}  // namespace weft
