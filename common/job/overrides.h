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

// What one override has made meaningless.
struct Dropped {
  std::string selector;  // "strategy.type"
  std::string type;      // as the format spells it
  std::vector<std::string> paths;
};

// Where an override chose strategy.type or training.optimizer.type, takes out what the document holds for other types
// only, and does not come from overrides itself; with the strategy also `server` where the type has no servers
// (`server.replicas: 0` where it has). Returns the paths by selector, in the order of the reference. Does nothing for a
// type that is none.
std::vector<Dropped> DropOthersSettings(YamlNode* root);

}  // namespace weft
