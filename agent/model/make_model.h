// Makes the model that a job names, for the samples that its data has.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "agent/model/model.h"
#include "common/clock.h"
#include "common/job/job_spec.h"
#include "common/plan/plan.h"
#include "common/status.h"

namespace weft {

// What a sample is: of images {channels, height, width} and the number of classes; of text {length + 1}, 256 classes.
struct ModelInput {
  std::vector<std::int64_t> dimensions;
  int classes = 0;
  bool text = false;
};

// What the replay model needs: the timeline read from model.replay.timeline, and the clock that it sleeps on. The clock
// outlives the model.
struct ReplayInput {
  Timeline timeline;
  Clock* clock = &Clock::Steady();
};

// The weights are zero until Initialize. `replay` is read for ModelType::kReplay only, `input` for all others.
// INVALID_ARGUMENT: the samples do not fit the model (text for an image model, images smaller than the model's
// kernels need, a context that differs from the samples' length), no class, a size below 1, a timeline without layers
// or with a negative or not whole number of floats.
Result<std::unique_ptr<Model>> MakeModel(const ModelSpec& spec, const ModelInput& input,
                                         const ReplayInput& replay = {});

}  // namespace weft
