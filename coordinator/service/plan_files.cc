#include "coordinator/service/plan_files.h"

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "common/plan/json.h"
#include "common/plan/names.h"
#include "common/rundir/atomic_file.h"
#include "coordinator/service/job_rules.h"

namespace weft {
namespace {

constexpr std::size_t kMaxPlanBytes = 256u << 20;
constexpr std::string_view kPrefix = "plan-";
constexpr std::string_view kSuffix = ".json";

// The iteration in plan-<iteration>.json; 0: another name.
std::int64_t FromIterationIn(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return 0;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(kSuffix.size());
  std::int64_t iteration = 0;
  const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), iteration);
  return error == std::errc{} && rest == name.data() + name.size() ? iteration : 0;
}

Result<Plan> ReadPlan(const std::string& path, const JobSpec& job) {
  WEFT_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMaxPlanBytes));
  Result<Plan> plan = ParsePlan(text);
  if (!plan.ok()) return plan.status().WithContext(path);
  if (Status status = CheckPlanFits(*plan, job); !status.ok()) return status.WithContext(path);
  return plan;
}

}  // namespace

bool CanChangePlan(StrategyType strategy) {
  return UsesParameterServers(strategy) || strategy == StrategyType::kAllReduce;
}

Result<std::vector<Plan>> ReadPlans(const std::string& path, std::int64_t start_iteration, const JobSpec& job) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    WEFT_ASSIGN_OR_RETURN(Plan plan, ReadPlan(path, job));
    plan.from_iteration = 1;
    plan.cause = "";
    return std::vector<Plan>{std::move(plan)};
  }
  std::map<std::int64_t, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (const std::int64_t from = FromIterationIn(entry.path().filename().string()); from > 0) {
      files[from] = entry.path().string();
    }
  }
  if (error) return ErrnoError("read " + path, error.value());
  auto first = files.upper_bound(start_iteration + 1);
  if (first == files.begin()) {
    return InvalidArgumentError(path + ": no plan for iteration " + std::to_string(start_iteration + 1));
  }
  std::vector<Plan> plans;
  for (--first; first != files.end(); ++first) {
    WEFT_ASSIGN_OR_RETURN(Plan plan, ReadPlan(first->second, job));
    plan.from_iteration = first->first;
    if (!plans.empty() && plan.strategy != plans[0].strategy) {
      return InvalidArgumentError(first->second + ": strategy " + Name(plan.strategy) +
                                  " is not that of the plan before, " + Name(plans[0].strategy));
    }
    if (!plans.empty() && !CanChangePlan(plan.strategy)) {
      return InvalidArgumentError(first->second + ": the plan of a run of " + Name(plan.strategy) + " does not change");
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

Status CheckChanges(const std::vector<Plan>& plans, std::int64_t iterations_per_epoch) {
  if (plans.empty() || plans[0].strategy != StrategyType::kInterleavedPS || iterations_per_epoch < 1) return OkStatus();
  for (std::size_t i = 1; i < plans.size(); ++i) {
    const std::int64_t behind = plans[i].from_iteration - 1;
    const std::int64_t left = iterations_per_epoch - behind % iterations_per_epoch;
    if (left >= plans[i - 1].period) continue;
    return InvalidArgumentError("plan-" + std::to_string(plans[i].from_iteration) + ".json: an evaluation comes " +
                                std::to_string(left) + " iterations behind the change, less than the period of " +
                                std::to_string(plans[i - 1].period) + " before it");
  }
  return OkStatus();
}

Status KeepPlan(const std::string& run_directory, const Plan& plan) {
  const std::string folder = run_directory + "/plans";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return ErrnoError("make " + folder, error.value());
  return WriteFileAtomically(folder + "/plan-" + std::to_string(plan.from_iteration) + ".json", PlanToJson(plan));
}

Status WritePlan(const std::string& run_directory, const Plan& plan) {
  WEFT_RETURN_IF_ERROR(KeepPlan(run_directory, plan));
  return WriteFileAtomically(run_directory + "/plan.json", PlanToJson(plan));
}

}  // namespace weft
