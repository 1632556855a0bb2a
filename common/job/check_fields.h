// A job's document against the table of fields, each field for itself.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/job/parse.h"
#include "common/job/yaml_tree.h"

namespace weft {

// What the document said, for the rules that bind several fields. Paths are in full.
struct FieldReadings {
  std::map<std::string, int> lines;            // of each known field that is given
  std::map<std::string, std::string> choices;  // of each enum that is given and right
  std::set<std::string> refused;               // fields with an error

  bool Given(const std::string& path) const { return lines.contains(path); }
  bool Sound(const std::string& path) const { return !refused.contains(path); }
  int LineOf(const std::string& path) const {
    const auto it = lines.find(path);
    return it == lines.end() ? 0 : it->second;
  }
};

// Reads the fields of `root`, a map, into `spec` (with unused_here), adds to `errors`: unknown fields, missing ones,
// other types, values out of their limits. Spells enum values that come from overrides as the table does.
FieldReadings CheckFields(YamlNode& root, JobSpec* spec, std::vector<JobError>* errors);

}  // namespace weft
