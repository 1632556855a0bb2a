#include "cli/planning_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include "common/job/nearest.h"
#include "common/math/topology.h"
#include "common/plan/json.h"
#include "common/plan/names.h"

namespace weft {
namespace {

// Of a plan. What else is limited below has the limits of the job's field of that name.
constexpr int kMaxWorkers = 4096;
constexpr int kMaxServers = 1024;
constexpr std::size_t kMaxTimelineBytes = 64u << 20;  // also of what does not end

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
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, file.get())) {
    text.append(buffer, count);
    if (text.size() > kMaxTimelineBytes) {
      return InvalidArgumentError(path + ": is longer than " + std::to_string(kMaxTimelineBytes) + " bytes");
    }
  }
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

Status SetLink(const char* alpha_flag, double alpha_us, const char* rate_flag, double mbps, Link* out) {
  if (!std::isfinite(alpha_us) || alpha_us < 0 || alpha_us > 1e9) {
    return InvalidArgumentError(std::string(alpha_flag) + ": " + Shown(alpha_us) + " is not in 0 .. 1e9");
  }
  if (!std::isfinite(mbps) || mbps < 1e-3 || mbps > 1e9) {
    return InvalidArgumentError(std::string(rate_flag) + ": " + Shown(mbps) + " is not in 0.001 .. 1e9");
  }
  // A megabit a second is a bit a microsecond.
  *out = {.latency_us = alpha_us, .us_per_byte = 8 / mbps};
  return OkStatus();
}

Status SetLinks(const PlanningOptions& options, PlanRequest* request) {
  Link link;
  WEFT_RETURN_IF_ERROR(SetLink("--alpha-us", options.alpha_us, "--bandwidth-mbps", options.bandwidth_mbps, &link));
  if (request->servers > 0) request->links = {{link}};
  WEFT_RETURN_IF_ERROR(SetLink("--peer-alpha-us", options.peer_alpha_us.value_or(options.alpha_us),
                               "--peer-bandwidth-mbps", options.peer_bandwidth_mbps.value_or(options.bandwidth_mbps),
                               &link));
  request->peer_links = {link};
  return OkStatus();
}

Status SetPeers(const PlanningOptions& options, PlanRequest* request) {
  PeerOptions& peers = request->peers;
  peers.local_steps = options.local_steps;
  peers.quantization_bits = options.bits;
  peers.overlap = options.overlap;
  WEFT_RETURN_IF_ERROR(SetEnum("--order", options.order, &peers.order));
  if (options.topology.empty()) {
    return options.degree == 0 ? OkStatus() : InvalidArgumentError("--degree is only for --topology random-regular");
  }
  const std::vector<std::string>& names = TopologyNames();
  const std::string name = LooseName(options.topology, names);
  const auto type = static_cast<TopologyType>(std::find(names.begin(), names.end(), name) - names.begin());
  if (name.empty() || type == TopologyType::kEdgeList) {
    return InvalidArgumentError("--topology: " + options.topology +
                                " is none of Complete, Ring, Torus, Hypercube, RandomRegular, Dragonfly");
  }
  Result<Topology> topology =
      Topology::Make({.type = type, .degree = options.degree, .edges = {}}, options.workers, /*seed=*/1);
  if (!topology.ok()) return topology.status().WithContext("--topology");
  peers.swarm_topology = *topology;
  peers.gossip_topology = *std::move(topology);
  return OkStatus();
}

Status CheckWithin(const char* flag, int value, int lowest, int highest) {
  const bool low = value < lowest;
  if (!low && value <= highest) return OkStatus();
  return InvalidArgumentError(std::string(flag) + ": " + std::to_string(value) + (low ? " is below " : " is above ") +
                              std::to_string(low ? lowest : highest));
}

}  // namespace

void AddPlanningOptions(CLI::App* command, PlanningOptions* options) {
  command->add_option("--timeline", options->timeline, "Timeline file, see docs/format/timeline.md")->required();
  command->add_option("--workers", options->workers, "Number of workers")->required();
  command->add_option("--servers", options->servers, "Number of servers")->capture_default_str();
  command->add_option("--strategy", options->strategy,
                      "interleaved-ps, all-reduce, swarm … or auto; else InterleavedPS, and in simulate all");
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
  command->add_option("--peer-alpha-us", options->peer_alpha_us, "The same of links among workers; else as --alpha-us");
  command->add_option("--peer-bandwidth-mbps", options->peer_bandwidth_mbps,
                      "The same of links among workers; else as --bandwidth-mbps");
  command->add_option("--local-steps", options->local_steps, "H of Swarm and LocalSGD")->capture_default_str();
  command->add_option("--bits", options->bits, "A weight under Swarm: 2 to 16, or 0 for floats")->capture_default_str();
  command->add_option("--topology", options->topology, "ring, complete, hypercube …; else the strategy's default");
  command->add_option("--degree", options->degree, "Of a random regular topology")->capture_default_str();
  command->add_option("--order", options->order, "combine-then-adapt or adapt-then-combine, of DPSGD")
      ->capture_default_str();
  command->add_option("--overlap", options->overlap, "Iterations that SGP's messages have")->capture_default_str();
  command->add_option("--max-staleness", options->max_staleness, "Of auto: iterations between two exchanges")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON");
}

Result<PlanRequest> ReadPlanRequest(const PlanningOptions& options) {
  PlanRequest request;
  request.workers = options.workers;
  request.servers = options.servers;
  request.options.period = options.period;
  WEFT_RETURN_IF_ERROR(CheckWithin("--workers", options.workers, 1, kMaxWorkers));
  if (!options.strategy.empty()) WEFT_RETURN_IF_ERROR(SetEnum("--strategy", options.strategy, &request.strategy));
  WEFT_RETURN_IF_ERROR(
      CheckWithin("--servers", options.servers, UsesParameterServers(request.strategy) ? 1 : 0, kMaxServers));
  WEFT_RETURN_IF_ERROR(CheckWithin("--period", options.period, 0, 1024));
  WEFT_RETURN_IF_ERROR(CheckWithin("--local-steps", options.local_steps, 1, 1'000'000));
  WEFT_RETURN_IF_ERROR(CheckWithin("--overlap", options.overlap, 0, 64));
  WEFT_RETURN_IF_ERROR(CheckWithin("--max-staleness", options.max_staleness, 1, 1024));
  if (options.bits < 0 || options.bits == 1 || options.bits > 16) {
    return InvalidArgumentError("--bits: " + std::to_string(options.bits) + " is neither 0 nor in 2 .. 16");
  }
  request.max_staleness = options.max_staleness;
  if (!options.fusion.empty()) {
    WEFT_RETURN_IF_ERROR(SetEnum("--fusion", options.fusion, &request.options.fusion));
    request.options.exact_fusion = true;
  }
  WEFT_RETURN_IF_ERROR(SetEnum("--phase", options.phase, &request.options.phase));
  WEFT_RETURN_IF_ERROR(SetEnum("--window", options.window, &request.options.window));
  WEFT_RETURN_IF_ERROR(SetEnum("--tail", options.tail, &request.options.tail));
  WEFT_RETURN_IF_ERROR(SetEnum("--apply", options.apply, &request.options.apply));
  WEFT_RETURN_IF_ERROR(SetLinks(options, &request));
  WEFT_RETURN_IF_ERROR(SetPeers(options, &request));
  WEFT_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.timeline));
  Result<Timeline> timeline = ParseTimeline(text);
  if (!timeline.ok()) return timeline.status().WithContext(options.timeline);
  request.timeline = *std::move(timeline);
  return request;
}

}  // namespace weft
