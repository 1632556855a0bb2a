// What the ranks' log tells of a death that nothing else explains. mpirun and the ranks print there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

// The first line of `log` that tells a cause: of the remote shell, else of an uncaught exception, else of a system call
// or a limit, else (only with `own_lines`) an error that a rank logged. Cut at 200 characters; empty: none does.
std::string TellingLine(std::string_view log, bool own_lines);

// The first host that mpirun lost: "host 1 (10.213.0.2) can't be reached any more: worker 1". `hosts`: the address of
// each rank's host, workers first. When a host is cut off, mpirun ends the ranks of all others, which are seen to die,
// and only the log tells which host it was. Empty: none was lost.
std::string DescribeLostHost(std::string_view log, const std::vector<std::string>& hosts, int workers);

}  // namespace weft
