// `--set path=value`: changes to a job's document before it is checked.
#pragma once

#include <string>
#include <vector>

#include "common/job/yaml_tree.h"
#include "common/status.h"

namespace weft {

// Puts `assignment` ("path=value") into the document, making the maps on the way. The path is taken with or without
// `spec.`; the value is YAML, empty for the empty string, null to take the field out.
// INVALID_ARGUMENT: no "=", an empty name in the path, a value that is not YAML, a path through what is no map.
Status ApplyOverride(const std::string& assignment, YamlNode* root);

// When an override chose strategy.type, takes out what the document holds for
// strategies of another family, and does not come from overrides itself: the settings that are not for this type, and
// `server` where the type has no servers (`server.replicas: 0` where it has). Returns their paths, in the order of the
// reference. Does nothing for a type that is none.
struct Dropped {
  std::string type;  // as the format spells it
  std::vector<std::string> paths;
};
Dropped DropOtherFamilies(YamlNode* root);

}  // namespace weft
