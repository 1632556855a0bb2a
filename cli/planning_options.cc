#include "cli/planning_options.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <memory>

#include "common/plan/json.h"
#include "common/plan/names.h"

namespace weft {
namespace {

// As the shell's user wrote it: 0.5 and not 0.500000.
std::string Shown(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

// Whatever the cause, the input was refused.
Status Unreadable(const std::string& path) { return InvalidArgumentError(ErrnoError(path, errno).message()); }

Result<std::string> ReadFile(const std::string& path) {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  errno = 0;
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return Unreadable(path);
  std::string text;
  char buffer[1 << 16];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, file.get())) text.append(buffer, count);
  if (std::ferror(file.get()) != 0) return Unreadable(path);
  return text;
}

template <typename E>
Status SetEnum(const char* flag, const std::string& text, E* out) {
  const std::optional<E> value = FromLooseName<E>(text);
  if (!value) return InvalidArgumentError(std::string(flag) + ": " + text + " is none of " + AllNames<E>());
  *out = *value;
  return OkStatus();
}

Status CheckAtLeast(const char* flag, int value, int lowest) {
  if (value >= lowest) return OkStatus();
  return InvalidArgumentError(std::string(flag) + ": " + std::to_string(value) + " is below " + std::to_string(lowest));
}

}  // namespace

void AddPlanningOptions(CLI::App* command, PlanningOptions* options) {
  command->add_option("--timeline", options->timeline, "Timeline file, see docs/format/timeline.md")->required();
  command->add_option("--workers", options->workers, "Number of workers")->required();
  command->add_option("--servers", options->servers, "Number of servers")->capture_default_str();
  command->add_option("--period", options->period, "Iterations between two synchronizations of a group; 0: chosen")
      ->capture_default_str();
  command->add_option("--fusion", options->fusion, "per-layer, mg-wfbp, optimal or balanced; else chosen");
  command->add_option("--phase", options->phase, "figure or formula")->capture_default_str();
  command->add_option("--window", options->window, "after-backward or whole-iteration")->capture_default_str();
  command->add_option("--tail", options->tail, "half or measured")->capture_default_str();
  command->add_option("--apply", options->apply, "deadline or late")->capture_default_str();
  command->add_option("--alpha-us", options->alpha_us, "Latency of every link, microseconds")->capture_default_str();
  command->add_option("--bandwidth-mbps", options->bandwidth_mbps, "Rate of every link, megabits a second")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON");
}

Result<PlanRequest> ReadPlanRequest(const PlanningOptions& options) {
  PlanRequest request;
  request.workers = options.workers;
  request.servers = options.servers;
  request.options.period = options.period;
  WEFT_RETURN_IF_ERROR(CheckAtLeast("--workers", options.workers, 1));
  WEFT_RETURN_IF_ERROR(CheckAtLeast("--servers", options.servers, 1));
  WEFT_RETURN_IF_ERROR(CheckAtLeast("--period", options.period, 0));
  if (!options.fusion.empty()) {
    WEFT_RETURN_IF_ERROR(SetEnum("--fusion", options.fusion, &request.options.fusion));
    request.options.exact_fusion = true;
  }
  WEFT_RETURN_IF_ERROR(SetEnum("--phase", options.phase, &request.options.phase));
  WEFT_RETURN_IF_ERROR(SetEnum("--window", options.window, &request.options.window));
  WEFT_RETURN_IF_ERROR(SetEnum("--tail", options.tail, &request.options.tail));
  WEFT_RETURN_IF_ERROR(SetEnum("--apply", options.apply, &request.options.apply));
  if (!std::isfinite(options.alpha_us) || options.alpha_us < 0 || options.alpha_us > 1e9) {
    return InvalidArgumentError("--alpha-us: " + Shown(options.alpha_us) + " is not in 0 .. 1e9");
  }
  if (!std::isfinite(options.bandwidth_mbps) || options.bandwidth_mbps < 1e-3 || options.bandwidth_mbps > 1e9) {
    return InvalidArgumentError("--bandwidth-mbps: " + Shown(options.bandwidth_mbps) + " is not in 0.001 .. 1e9");
  }
  // A megabit a second is a bit a microsecond.
  request.links = {{{.latency_us = options.alpha_us, .us_per_byte = 8 / options.bandwidth_mbps}}};
  WEFT_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.timeline));
  Result<Timeline> timeline = ParseTimeline(text);
  if (!timeline.ok()) return timeline.status().WithContext(options.timeline);
  request.timeline = *std::move(timeline);
  return request;
}

}  // namespace weft
