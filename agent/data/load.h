// A TrainingJob's data, read into memory.
#pragma once

#include <memory>

#include "agent/data/dataset.h"
#include "common/job/job_spec.h"
#include "common/status.h"

namespace weft {

// `text_context` is the model's context, in tokens; used for text only. Synthetic data is a number of training samples
// without content, for models that read none: gathered batches have a size and no inputs, and there is no test split.
// INVALID_ARGUMENT: one line with the file, the value and the rule; each format's cases stand in agent/data/formats.h.
Result<std::unique_ptr<Dataset>> LoadDataset(const DataSpec& data, int text_context);

}  // namespace weft
