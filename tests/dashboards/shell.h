// The tools that hold the dashboards and rules: promtool, and a validator of JSON schemas.
#pragma once

#include <string>

namespace weft {

struct ToolOutcome {
  int exit_code = -1;  // -1: ended by a signal, or could not be started
  std::string output;  // of stdout and stderr
};

// `command` as the shell reads it, in the current folder; ended after a minute.
ToolOutcome RunTool(const std::string& command);

}  // namespace weft
