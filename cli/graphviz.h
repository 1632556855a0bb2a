// Graphviz, where it is installed, as a process of its own.
#pragma once

#include <string>

#include "common/clock.h"
#include "common/status.h"

namespace weft {

// What Graphviz draws from `dot`, as SVG. FAILED_PRECONDITION: neither dot nor neato is in PATH, or it fails; its first
// line is in the message. DEADLINE_EXCEEDED: it is not done at `deadline`, and was killed.
Result<std::string> DrawSvg(const std::string& dot, TimePoint deadline);

}  // namespace weft
