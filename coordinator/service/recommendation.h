// How many workers a job is worth: what `weft_recommended_workers` tells.
#pragma once

#include "common/job/job_spec.h"
#include "common/plan/plan.h"
#include "common/status.h"
#include "coordinator/service/measurements.h"

namespace weft {

// No more are tried.
inline constexpr int kMostRecommendedWorkers = 256;

// The largest number of workers K that still pays. With iterations of compute C and predicted length I(K), K workers do
// S(K) = K C / I(K) times the work of one; K pays when each worker added brings at least half of what one does alone:
// S(K) - S(M) >= (K - M) / 2, M the largest smaller number that pays (1 always does). A plan is made for each number
// that is tried: all up to 8, then steps of a quarter, which is how exact it is (with over 1,000 layers powers of two).
//
// The links are the slowest ones measured, `strategy` is the one that trains (not Auto). Numbers that the strategy's
// topology can't have are passed over. INVALID_ARGUMENT: no link was measured.
Result<int> RecommendedWorkers(JobSpec job, StrategyType strategy, const Measurements& measurements);

}  // namespace weft
