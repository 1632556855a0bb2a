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
// CombineThenAdapt), adding what came and halving (SGP), taking the shared model and adding the step to it (ADPSGD),
// adding what others have changed and leaving a copy (Swarm).
double ProcessorCostUs(const Plan& plan, const PlanRequest& request);

// What an averaging takes of the exchangers' threads, beside compute: it is as much longer. ADPSGD: copying the model
// that leaves, averaging it with the partner's and keeping what that was, taking the reply.
inline constexpr double kReadModelPasses = 1.5;
inline constexpr double kAveragePasses = 2.5;
inline constexpr double kApplyReplyPasses = 1.5;
// Swarm: of an interaction the partner's model, decoded, and the delta, encoded; then folding and publishing.
struct SwarmCosts {
  double decode_us = 0;
  double encode_us = 0;
  double publish_us = 0;
};
SwarmCosts SwarmCostsOf(const Plan& plan);

}  // namespace weft
