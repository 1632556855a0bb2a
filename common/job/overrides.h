// `--set path=value`: changes to a job's document before it is checked.
#pragma once

#include <string>

#include "common/job/yaml_tree.h"
#include "common/status.h"

namespace weft {

// Puts `assignment` ("path=value") into the document, making the maps on the way. The path is taken with or without
// `spec.`; the value is YAML, empty for the empty string, null to take the field out.
// INVALID_ARGUMENT: no "=", an empty name in the path, a value that is not YAML, a path through what is no map.
Status ApplyOverride(const std::string& assignment, YamlNode* root);

}  // namespace weft
