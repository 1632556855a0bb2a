// Runs the `weft` binary and collects what it prints.
#pragma once

#include <string>

namespace weft {

struct CommandOutcome {
  int exit_code = -1;  // -1: ended by a signal
  std::string out;
  std::string err;
};

// `arguments` as a shell would read them; the binary's path is put in front, and behind
// `before`, commands of the shell each with its semicolon.
CommandOutcome RunWeft(const std::string& arguments, const std::string& before = "");

}  // namespace weft
