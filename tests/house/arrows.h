// Dependency arrows: which folder may include from which. arrows.txt says it and explains its own format.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace weft::house {

struct Arrows {
  std::map<std::string, std::vector<std::string>> allowed;    // by folder, folder/... or file
  std::map<std::string, std::vector<std::string>> libraries;  // by "<name>": the headers it stands for
};

// Reads the text of an arrows.txt. A line that begins with white space goes on from the line before it.
//
// Errors: INVALID_ARGUMENT, with the line's number, for a line without a colon, a name that is given twice, or a
// library that is allowed but not defined.
Result<Arrows> ParseArrows(std::string_view text);

// Every include below `root` that `arrows` does not allow, as "agent/core/a.h:3: may not include \"cli/b.h\"", in order
// of path and line. One line too for a folder that `arrows` does not name, and for an include in quotes that is no file
// from the root (proto/x.pb.h and proto/x.grpc.pb.h stand for proto/x.proto).
std::vector<std::string> FindWrongIncludes(const Arrows& arrows, const std::filesystem::path& root);

}  // namespace weft::house
