// `weft`: the command line.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/bench_command.h"
#include "cli/command.h"
#include "cli/plan_command.h"
#include "cli/report_command.h"
#include "cli/run_command.h"
#include "cli/simulate_command.h"
#include "cli/testbed_command.h"
#include "cli/top_command.h"
#include "cli/topology_command.h"
#include "cli/validate_command.h"
#include "common/cpu.h"
#include "common/job/nearest.h"
#include "common/status.h"
#include "common/version.h"

namespace weft {
namespace {

// What to say where a word stands for a subcommand that there is not; empty where that is not what is wrong.
std::string UnknownSubcommand(const CLI::App& app) {
  const CLI::App* at = &app;
  std::string command = app.get_name();
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    command += " " + at->get_name();
  }
  const std::vector<std::string> extra = at->remaining();
  std::vector<std::string> names;
  for (const CLI::App* one : at->get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(one->get_name());
  if (names.empty() || extra.empty() || extra.front().starts_with("-")) return "";
  std::string text = "'" + extra.front() + "' is no subcommand of " + command;
  if (const std::string nearest = NearestName(extra.front(), names); !nearest.empty()) {
    return text + "; is '" + nearest + "' meant?";
  }
  for (const std::string& name : names) text += (name == names.front() ? ": it has " : ", ") + name;
  return text;
}

int Main(int argc, const char* const* argv) {
  if (const Status status = CheckProcessor(); !status.ok()) return ReportStatus(status);

  CLI::App app("Trains neural networks over networks that are slower than the processors.", "weft");
  app.set_version_flag("--version", "weft " + Version());
  int exit_code = kExitOk;
  AddBenchCommand(&app, &exit_code);
  AddPlanCommand(&app, &exit_code);
  AddReportCommand(&app, &exit_code);
  AddRunCommand(&app, &exit_code);
  AddSimulateCommand(&app, &exit_code);
  AddTestbedCommand(&app, &exit_code);
  AddTopCommand(&app, &exit_code);
  AddTopologyCommand(&app, &exit_code);
  AddValidateCommand(&app, &exit_code);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version come as "errors" with exit code 0.
    if (error.get_exit_code() == 0) return app.exit(error);
    if (const std::string unknown = UnknownSubcommand(app); !unknown.empty()) {
      ReportError(unknown);
      return kExitBadInput;
    }
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    const std::string command = chosen.empty() ? "weft" : "weft " + chosen.front()->get_name();
    ReportError(std::string(error.what()) + " (" + command + " --help tells what there is)");
    return kExitBadInput;
  }
  // Not require_subcommand(), which hides an unknown flag or name behind it.
  if (app.get_subcommands().empty()) {
    ReportError("a subcommand is needed (weft --help tells what there is)");
    return kExitBadInput;
  }
  return exit_code;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) { return weft::Main(argc, argv); }
