// What mpirun asks of its remote shell: to start one of its daemons on a host. A value, so that it is tested without a
// launch.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/status.h"

namespace weft {

// The program that takes mpirun's request, and the environment variable that tells it the test-bed's file.
inline constexpr const char* kRemoteShellName = "weft-remote-shell";
inline constexpr const char* kRemoteShellTestbed = "WEFT_TESTBED";

struct RemoteCommand {
  std::string address;                 // of the host
  std::vector<std::string> arguments;  // the first is "orted"
};

// `words` as mpirun passes them, without this program's own name: the host, and a command line that a shell would have
// put together: with spaces before words and quotes around values. No shell runs here, so they are taken off.
// INVALID_ARGUMENT: no host, a program other than orted, a word that only a shell would understand, or an option or
// setting (`-mca NAME VALUE`) that no run of ours gives: orted's own would let it start other programs.
Result<RemoteCommand> ParseRemoteCommand(std::span<const std::string> words);

}  // namespace weft
