// Edges of a graph as people write them.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "common/status.h"

namespace weft {

// "0-1, 1-2", one edge a line with `#` comments, "0 1" for "0-1", or a JSON list of pairs. INVALID_ARGUMENT: what is no
// edge, with its text; no edge at all; more than a million.
Result<std::vector<std::pair<int, int>>> ParseEdges(std::string_view text);

}  // namespace weft
