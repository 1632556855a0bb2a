#include "cli/report_command.h"

#include <CLI/App.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "common/report/report.h"
#include "common/rundir/run_directory.h"

namespace weft {
namespace {

constexpr std::size_t kMaxDirectories = 64;
constexpr const char* kComparison = "comparison.html";

struct ReportOptions {
  std::vector<std::string> directories;
  std::string out;
};

Status Run(const ReportOptions& options) {
  if (options.directories.size() > kMaxDirectories) {
    return InvalidArgumentError("report: " + std::to_string(options.directories.size()) + " folders are above " +
                                std::to_string(kMaxDirectories));
  }
  std::string out = options.out;
  if (out.empty() && options.directories.size() > 1) out = kComparison;
  if (out.empty()) {
    WEFT_ASSIGN_OR_RETURN(const RunDirectory run, RunDirectory::OpenToRead(options.directories.front()));
    out = run.report();
  }
  WEFT_RETURN_IF_ERROR(WriteReport(options.directories, out));
  std::printf("report: %s\n", out.c_str());
  return OkStatus();
}

}  // namespace

void AddReportCommand(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("report", "Makes a page of a run, or one that compares several");
  const auto options = std::make_shared<ReportOptions>();
  command->add_option("DIR", options->directories, "Run directories")->required();
  command
      ->add_option("--out", options->out,
                   "Where the page goes; default: report.html in the run directory, of several comparison.html here")
      ->option_text("FILE");
  command->callback([options, exit_code] { *exit_code = ReportStatus(Run(*options)); });
}

}  // namespace weft
