#include "cli/simulate_command.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/planning_options.h"
#include "common/plan/names.h"
#include "common/plan/table.h"
#include "coordinator/planner/simulator.h"

namespace weft {
namespace {

struct SimulateOptions {
  PlanningOptions planning;
  double slow_worker = 1;
  double jitter = 0;
  std::uint64_t seed = 1;
  bool no_admission = false;
  bool what_if = false;
};

struct Row {
  std::string title;
  Plan plan;
  SimulationResult result;
};

Result<Row> Play(const std::string& title, const PlanRequest& request, const SimulationOptions& options) {
  WEFT_ASSIGN_OR_RETURN(Plan plan, MakePlan(request));
  WEFT_ASSIGN_OR_RETURN(SimulationResult result, Simulate(plan, request, options));
  return Row{title, std::move(plan), std::move(result)};
}

SimulationOptions OptionsFor(const SimulateOptions& options, const PlanRequest& request) {
  SimulationOptions out;
  out.compute_jitter = options.jitter;
  out.seed = options.seed;
  if (options.slow_worker != 1) {
    out.slowdown.assign(static_cast<std::size_t>(request.workers), 1);
    out.slowdown[0] = options.slow_worker;
  }
  return out;
}

constexpr StrategyType kAll[] = {
    StrategyType::kInterleavedPS, StrategyType::kMergedPS, StrategyType::kBulkSynchronousPS,
    StrategyType::kAllReduce,     StrategyType::kLocalSGD, StrategyType::kDPSGD,
    StrategyType::kADPSGD,        StrategyType::kSGP,      StrategyType::kSwarm};

// All that the job has servers for; or the one that was asked for.
Result<std::vector<Row>> PlayStrategies(const SimulateOptions& options, const PlanRequest& request) {
  std::vector<Row> rows;
  const bool one = !options.planning.strategy.empty();
  for (const StrategyType strategy : kAll) {
    if (UsesParameterServers(strategy) && request.servers == 0) continue;
    if (one && request.strategy != strategy) continue;
    PlanRequest each = request;
    each.strategy = strategy;
    WEFT_ASSIGN_OR_RETURN(Row row, Play(Name(strategy), each, OptionsFor(options, each)));
    rows.push_back(std::move(row));
  }
  return rows;
}

// One strategy in the design's what-ifs.
Result<std::vector<Row>> PlayWhatIfs(const SimulateOptions& options, const PlanRequest& request) {
  std::vector<Row> rows;
  const auto add = [&](const std::string& title, const PlanRequest& changed, const SimulationOptions& with) -> Status {
    WEFT_ASSIGN_OR_RETURN(Row row, Play(title, changed, with));
    rows.push_back(std::move(row));
    return OkStatus();
  };
  WEFT_RETURN_IF_ERROR(add("as given", request, OptionsFor(options, request)));

  PlanRequest changed = request;
  for (std::vector<Link>& row : changed.links) row[0].us_per_byte *= 2;
  changed.peer_links[0].us_per_byte *= 2;
  WEFT_RETURN_IF_ERROR(add("half the bandwidth", changed, OptionsFor(options, changed)));

  // A given graph is of so many workers and no more.
  if (!request.peers.swarm_topology.has_value()) {
    changed = request;
    changed.workers += 4;
    WEFT_RETURN_IF_ERROR(add("4 more workers", changed, OptionsFor(options, changed)));
  }

  if (UsesParameterServers(request.strategy)) {
    changed = request;
    changed.servers += 1;
    WEFT_RETURN_IF_ERROR(add("1 more server", changed, OptionsFor(options, changed)));
  }

  SimulateOptions slower = options;
  slower.slow_worker = 2;
  WEFT_RETURN_IF_ERROR(add("one worker twice as slow", request, OptionsFor(slower, request)));

  changed = request;
  const int period = rows.front().plan.period;
  if (request.strategy == StrategyType::kInterleavedPS) {
    changed.options.period = 2 * period;
    WEFT_RETURN_IF_ERROR(add("twice the period", changed, OptionsFor(options, changed)));
  } else if (request.strategy == StrategyType::kLocalSGD || request.strategy == StrategyType::kSwarm) {
    changed.peers.local_steps = 2 * period;
    WEFT_RETURN_IF_ERROR(add("twice the local steps", changed, OptionsFor(options, changed)));
  }
  return rows;
}

std::string Table(const char* heading, const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> cells = {{heading, "T or H", "groups", "iteration", "compute", "stall",
                                                  "link use", "concurrent", "peak", "per iteration", "missed"}};
  for (const Row& row : rows) {
    const SimulationResult& result = row.result;
    cells.push_back({row.title, std::to_string(row.plan.period), std::to_string(row.plan.groups.size()),
                     ShowMicroseconds(result.iteration_us), ShowMicroseconds(result.compute_us),
                     ShowMicroseconds(result.stall_us), ShowPercent(result.link_use),
                     ShowPercent(result.concurrent_share), ShowBytes(result.peak_bytes_per_second) + "/s",
                     ShowBytes(result.bytes_per_iteration), ShowPercent(result.missed_share)});
  }
  return AlignedColumns(cells);
}

nlohmann::ordered_json Json(const char* key, const std::vector<Row>& rows) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    const SimulationResult& result = row.result;
    out.push_back({{key, row.title},
                   {"workers", row.plan.workers},
                   {"servers", row.plan.servers},
                   {"period", row.plan.period},
                   {"fusion", Name(row.plan.fusion)},
                   {"groups", row.plan.groups.size()},
                   {"iteration_us", result.iteration_us},
                   {"compute_us", result.compute_us},
                   {"stall_us", result.stall_us},
                   {"link_use", result.link_use},
                   {"concurrent_share", result.concurrent_share},
                   {"peak_bytes_per_second", result.peak_bytes_per_second},
                   {"bytes_per_iteration", result.bytes_per_iteration},
                   {"sent_bytes", result.sent_bytes},
                   {"staleness_wait_us", result.staleness_wait_us},
                   {"missed_share", result.missed_share}});
  }
  return out;
}

Status CheckWithin(const char* flag, double value, double lowest, double highest) {
  if (std::isfinite(value) && value >= lowest && value <= highest) return OkStatus();
  char text[128];
  std::snprintf(text, sizeof text, "%s: %g is not in %g .. %g", flag, value, lowest, highest);
  return InvalidArgumentError(text);
}

Status Run(const SimulateOptions& options) {
  WEFT_RETURN_IF_ERROR(CheckWithin("--slow-worker", options.slow_worker, 0.01, 1000));
  WEFT_RETURN_IF_ERROR(CheckWithin("--jitter", options.jitter, 0, 1));
  PlanningOptions planning = options.planning;
  if (planning.strategy.empty() && planning.servers == 0) planning.strategy = "all-reduce";  // that the what-ifs are of
  WEFT_ASSIGN_OR_RETURN(PlanRequest request, ReadPlanRequest(planning));
  request.options.admission = !options.no_admission;
  if (request.strategy == StrategyType::kAuto) {
    Result<Plan> picked = MakePlan(request);
    if (!picked.ok()) return picked.status().WithContext(options.planning.timeline);
    request.strategy = picked->strategy;
    if (request.strategy == StrategyType::kInterleavedPS) request.options.period = picked->period;
    if (!UsesParameterServers(request.strategy)) request.peers.local_steps = picked->period;
  }
  const Result<std::vector<Row>> strategies = PlayStrategies(options, request);
  if (!strategies.ok()) return strategies.status().WithContext(options.planning.timeline);
  std::vector<Row> what_ifs;
  if (options.what_if) {
    WEFT_ASSIGN_OR_RETURN(what_ifs, PlayWhatIfs(options, request));
  }
  std::string text;
  if (options.planning.json) {
    nlohmann::ordered_json out = {{"strategies", Json("strategy", *strategies)}};
    if (options.what_if) out["what_if"] = Json("what", what_ifs);
    text = out.dump(2) + "\n";
  } else {
    text = Table("strategy", *strategies);
    if (options.what_if) text += "\n" + Table(Name(request.strategy), what_ifs);
  }
  std::fputs(text.c_str(), stdout);
  return OkStatus();
}

}  // namespace

void AddSimulateCommand(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("simulate", "Predict every strategy, side by side");
  const auto options = std::make_shared<SimulateOptions>();
  AddPlanningOptions(command, &options->planning);
  command->add_option("--slow-worker", options->slow_worker, "How many times as long worker 0 computes")
      ->capture_default_str();
  command->add_option("--jitter", options->jitter, "Standard deviation of compute, as a share of it")
      ->capture_default_str();
  AddSeedOption(*command, &options->seed, "Seed of the jitter");
  command->add_flag("--no-admission", options->no_admission, "Servers take all transfers at once");
  command->add_flag("--what-if", options->what_if,
                    "Also half the bandwidth, more workers, another server, a slow worker, a longer period");
  command->callback([options, exit_code] { *exit_code = ReportStatus(Run(*options)); });
}

}  // namespace weft
