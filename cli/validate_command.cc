#include "cli/validate_command.h"

#include <CLI/App.hpp>
#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "cli/job_file.h"

namespace weft {

void AddValidateCommand(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("validate", "Check a TrainingJob, and print every error in it");
  const auto options = std::make_shared<JobFileOptions>();
  AddJobFileOptions(*command, options.get());
  command->callback([options, exit_code] {
    const std::optional<ParsedJob> job = LoadJobFile(*options);
    if (!job) {
      *exit_code = kExitBadInput;
      return;
    }
    std::printf("%s: valid\n", options->path.c_str());
    if (const std::string unused = UnusedLine(options->path, job->spec); !unused.empty()) {
      std::printf("%s\n", unused.c_str());
    }
  });
}

}  // namespace weft
