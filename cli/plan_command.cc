#include "cli/plan_command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "cli/planning_options.h"
#include "common/plan/json.h"
#include "common/plan/table.h"

namespace weft {
namespace {

constexpr std::size_t kTableRows = 64;

Status Run(const PlanningOptions& options) {
  WEFT_ASSIGN_OR_RETURN(const PlanRequest request, ReadPlanRequest(options));
  const Result<Plan> plan = MakePlan(request);
  // What the flags allow and the planner refuses lies in the timeline or in its relation to them.
  if (!plan.ok()) return plan.status().WithContext(options.timeline);
  const std::string text = options.json ? PlanToJson(*plan) : PlanTable(*plan, kTableRows);
  std::fputs(text.c_str(), stdout);
  return OkStatus();
}

}  // namespace

void AddPlanCommand(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("plan", "Plan what is sent when, from a model's timeline");
  const auto options = std::make_shared<PlanningOptions>();
  AddPlanningOptions(command, options.get());
  command->callback([options, exit_code] { *exit_code = ReportStatus(Run(*options)); });
}

}  // namespace weft
