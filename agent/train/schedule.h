// The learning rate over time: warm-up, then constant, step or cosine.
#pragma once

#include <cstdint>

#include "common/job/job_spec.h"

namespace weft {

// The rate for 1-based `iteration`. With e = (iteration - 1) / iterations_per_epoch and base rate r:
//   e < warmup:  r * (iteration / (warmup * iterations_per_epoch))
//   Constant:    r
//   Step:        r * factor^(number of step_epochs <= e)
//   Cosine:      r * (1 + cos(pi * (e - warmup) / (epochs - warmup))) / 2
// A pure function of its arguments, so that a resumed run has the same rates.
double LearningRate(const TrainingSpec& training, std::int64_t iterations_per_epoch, std::int64_t total_iterations,
                    std::int64_t iteration);

}  // namespace weft
