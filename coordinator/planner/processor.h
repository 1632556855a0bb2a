// What a plane's arithmetic takes of a worker's thread, so that predictions are not those of the network alone.
// Measured on one core of a server processor of 2020; on others it differs by a factor, of something small against
// compute.
#pragma once

#include "common/plan/plan.h"
#include "coordinator/planner/planner.h"

namespace weft {

// One pass over a vector of floats beside another (add, scale, copy), per byte of the vector.
inline constexpr double kPassUsPerByte = 0.00025;
// AllReduce clears its bucket and adds the gradient to it; then it divides the sum and copies it back.
inline constexpr double kFillBucketUsPerByte = 2 * kPassUsPerByte;
inline constexpr double kTakeSumUsPerByte = 2 * kPassUsPerByte;
// Encoding or decoding floats, per byte of them.
inline constexpr double kCodeUsPerByte = 0.0005;

// What an exchange of a gossip strategy takes outside of compute: averaging with all neighbours (DPSGD,
// CombineThenAdapt), adding what came and halving (SGP, ADPSGD), folding and publishing (Swarm).
double ProcessorCostUs(const Plan& plan, const PlanRequest& request);

}  // namespace weft
