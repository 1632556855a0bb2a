#include "tests/dashboards/shell.h"

#include <sys/wait.h>

#include <cstdio>

namespace weft {

ToolOutcome RunTool(const std::string& command) {
  ToolOutcome outcome;
  // In parentheses, so that the time limit and the redirection are those of all of it.
  std::FILE* pipe = popen(("timeout 60 sh -c '" + command + "' 2>&1").c_str(), "re");
  if (pipe == nullptr) return outcome;
  char part[4096];
  for (std::size_t count; (count = std::fread(part, 1, sizeof part, pipe)) > 0;) outcome.output.append(part, count);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  return outcome;
}

}  // namespace weft
