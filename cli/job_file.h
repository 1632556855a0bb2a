// The job file that `validate` and `run` take, with its overrides.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/job/parse.h"

namespace CLI {
class App;
}

namespace weft {

struct JobFileOptions {
  std::string path;
  std::vector<std::string> overrides;  // "path=value"
};

// Adds FILE and --set to a subcommand. `options` must live as long as the app.
void AddJobFileOptions(CLI::App& command, JobFileOptions* options);

// Reads and checks the file. On errors writes each to stderr, "FILE:LINE: what", and returns nullopt: the exit code is
// kExitBadInput then. Writes the job's notes there too. Takes "-" for stdin.
std::optional<ParsedJob> LoadJobFile(const JobFileOptions& options);

// The line that tells which fields have no meaning outside a cluster: "FILE: unused outside a cluster: image, …"; empty
// when there are none.
std::string UnusedLine(const std::string& path, const JobSpec& spec);

}  // namespace weft
