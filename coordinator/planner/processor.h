// What a plane's arithmetic takes of a worker's thread, so that predictions are not those of the network alone.
// Measured on one core of a server processor (AMD EPYC) for vectors of 64 MiB, and rounded up; what fits into a cache
// takes a third of it. On other processors it differs by a factor, of something small against compute.
#pragma once

#include "common/plan/plan.h"
#include "coordinator/planner/planner.h"

namespace weft {

// One pass over a vector of floats beside another, per byte of the vector: an add takes 0.00008, a copy 0.0001.
inline constexpr double kPassUsPerByte = 0.0001;
// AllReduce clears its bucket and adds the gradient to it; then it divides the sum and copies it back.
inline constexpr double kFillBucketUsPerByte = 2 * kPassUsPerByte;
inline constexpr double kTakeSumUsPerByte = 2 * kPassUsPerByte;
// Encoding floats for a register, per byte of them, at 8 bits (`weft bench quantizer`); decoding takes a third.
inline constexpr double kCodeUsPerByte = 0.0003;

// What an exchange of a gossip strategy takes outside of compute: averaging with all neighbours (DPSGD,
// CombineThenAdapt), adding what came and halving (SGP, ADPSGD), folding and publishing (Swarm).
double ProcessorCostUs(const Plan& plan, const PlanRequest& request);

}  // namespace weft
