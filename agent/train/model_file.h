// A model's weights as a safetensors file with the names and shapes of its parameters: model.safetensors.
#pragma once

#include <string>

#include "agent/model/model.h"
#include "common/status.h"

namespace weft {

// Writes all parameters, atomically. Errors: as common/rundir/safetensors.h.
Status WriteModelFile(const std::string& path, Model& model);

// Overwrites the model's weights. INVALID_ARGUMENT, naming file and tensor: one that is missing, is not of the model,
// or has another shape; a file that is not safetensors. The weights are then in part overwritten.
Status ReadModelFile(const std::string& path, Model& model);

}  // namespace weft
