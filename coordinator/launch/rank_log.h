// What the ranks' log tells of a death that nothing else explains. mpirun and the ranks print there.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// The first line of `log` that tells a cause: of an uncaught exception, else of a system call or a limit, else (only
// with `own_lines`) an error that a rank logged. Cut at 200 characters; empty: none does.
std::string TellingLine(std::string_view log, bool own_lines);

}  // namespace weft
