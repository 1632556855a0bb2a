#include "cli/topology_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/edge_text.h"
#include "cli/graphviz.h"
#include "cli/topology_picture.h"
#include "common/clock.h"
#include "common/job/nearest.h"
#include "common/job/shown.h"
#include "common/math/topology.h"
#include "common/rundir/atomic_file.h"

namespace weft {
namespace {

constexpr std::size_t kMaxEdgeFileBytes = 16u << 20;
constexpr std::chrono::seconds kDrawingTime(60);

struct TopologyOptions {
  std::string name;
  std::optional<int> nodes;
  std::optional<int> degree;
  std::uint64_t seed = 1;
  std::string edges;
  bool json = false;
  bool dot = false;
  std::string svg;
};

struct Request {
  TopologySpec spec;
  int nodes = 0;
};

Result<TopologyType> TypeNamed(const std::string& name) {
  const std::vector<std::string>& names = TopologyNames();
  if (const std::string found = LooseName(name, names); !found.empty()) {
    return static_cast<TopologyType>(std::find(names.begin(), names.end(), found) - names.begin());
  }
  std::string all;
  for (const std::string& known : names) all += (all.empty() ? "" : ", ") + known;
  const std::string near = NearestName(name, names);
  return InvalidArgumentError(Shown(name) + " is not one of " + all +
                              (near.empty() ? "" : "; did you mean " + near + "?"));
}

// Given as they are, or a file's name.
Result<std::vector<std::pair<int, int>>> ReadEdges(const std::string& edges) {
  if (edges.find_first_not_of("0123456789 \t\n,-[]") == std::string::npos) return ParseEdges(edges);
  const Result<std::string> text = ReadSmallFile(edges, kMaxEdgeFileBytes);
  if (!text.ok()) return InvalidArgumentError(text.status().message());
  const auto parsed = ParseEdges(*text);
  return parsed.ok() ? parsed : parsed.status().WithContext(Shown(edges));
}

Status CheckGiven(bool given, bool needed, const char* flag, const char* type) {
  if (given && !needed) return InvalidArgumentError(std::string(flag) + " is only for " + type);
  if (!given && needed) return InvalidArgumentError(std::string(flag) + " is missing, which " + type + " needs");
  return OkStatus();
}

Result<Request> ReadRequest(const TopologyOptions& options) {
  Request request;
  WEFT_ASSIGN_OR_RETURN(request.spec.type, TypeNamed(options.name));
  const bool from_edges = request.spec.type == TopologyType::kEdgeList;
  WEFT_RETURN_IF_ERROR(CheckGiven(options.degree.has_value(), request.spec.type == TopologyType::kRandomRegular,
                                  "--degree", "RandomRegular"));
  WEFT_RETURN_IF_ERROR(CheckGiven(!options.edges.empty(), from_edges, "--edges", "EdgeList"));
  if (options.json && options.dot) return InvalidArgumentError("--json and --dot exclude each other");
  request.spec.degree = options.degree.value_or(0);
  if (from_edges) {
    Result<std::vector<std::pair<int, int>>> edges = ReadEdges(options.edges);
    if (!edges.ok()) return edges.status().WithContext("--edges");
    request.spec.edges = *std::move(edges);
    for (const auto& [a, b] : request.spec.edges) {
      request.nodes = std::max(request.nodes, std::min(std::max(a, b), kMaxTopologyNodes - 1) + 1);
    }
  } else if (!options.nodes.has_value()) {
    return InvalidArgumentError("--nodes is missing");
  }
  if (options.nodes.has_value()) request.nodes = *options.nodes;
  return request;
}

// "topology.degree: 4 is …" with the name of the flag that it comes from.
Status WithFlag(const Status& status) {
  std::string message = status.message();
  const std::size_t colon = message.find(": ");
  const std::string field = message.substr(0, colon);
  message = message.substr(colon + 2);
  if (field == "topology.degree") message = "--degree: " + message;
  if (field == "topology.edges") message = "--edges: " + message;
  if (field == "topology") message = "--nodes: " + message;
  return {status.code(), message};
}

std::string Json(const Request& request, const Topology& topology, const TopologyFacts& facts) {
  nlohmann::ordered_json out = {{"topology", TopologyNames()[static_cast<std::size_t>(request.spec.type)]},
                                {"nodes", topology.nodes()},
                                {"edges", facts.edges},
                                {"lambda2", facts.lambda2},
                                {"rho_min", facts.min_degree},
                                {"rho_max", facts.max_degree}};
  out["neighbours"] = nlohmann::ordered_json::array();
  for (int node = 0; node < topology.nodes(); ++node) {
    const auto neighbours = topology.neighbours(node);
    out["neighbours"].push_back(std::vector<int>(neighbours.begin(), neighbours.end()));
  }
  return out.dump() + "\n";
}

std::string Text(const Request& request, const Topology& topology, const TopologyFacts& facts) {
  const std::string degree = facts.min_degree == facts.max_degree
                                 ? std::to_string(facts.min_degree)
                                 : std::to_string(facts.min_degree) + " to " + std::to_string(facts.max_degree);
  char numbers[256];
  std::snprintf(numbers, sizeof numbers,
                "nodes    %d\nedges    %lld\ndegree   %s\nlambda2  %.9g\nrho_min  %d\nrho_max  %d\n", topology.nodes(),
                static_cast<long long>(facts.edges), degree.c_str(), facts.lambda2, facts.min_degree, facts.max_degree);
  return TopologyNames()[static_cast<std::size_t>(request.spec.type)] + "\n" + numbers + "\n" +
         TopologyPicture(request.spec.type, topology);
}

Status Run(const TopologyOptions& options) {
  WEFT_ASSIGN_OR_RETURN(const Request request, ReadRequest(options));
  const Result<Topology> topology = Topology::Make(request.spec, request.nodes, options.seed);
  if (!topology.ok()) return WithFlag(topology.status());
  const std::string dot = TopologyDot(request.spec.type, *topology);
  if (!options.svg.empty()) {
    const Result<std::string> svg = DrawSvg(dot, Clock::Steady().Now() + kDrawingTime);
    if (!svg.ok()) return svg.status().WithContext("--svg");
    WEFT_RETURN_IF_ERROR(WriteFileAtomically(options.svg, *svg).WithContext("--svg"));
  }
  if (options.dot) {
    std::fputs(dot.c_str(), stdout);
    return OkStatus();
  }
  const TopologyFacts facts = FactsOf(*topology);
  std::fputs((options.json ? Json(request, *topology, facts) : Text(request, *topology, facts)).c_str(), stdout);
  return OkStatus();
}

}  // namespace

void AddTopologyCommand(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("topology", "Tell what an overlay graph is like, and draw it");
  const auto options = std::make_shared<TopologyOptions>();
  command->add_option("NAME", options->name, "complete, ring, torus, hypercube, random-regular, dragonfly or edge-list")
      ->required();
  command->add_option("--nodes", options->nodes, "Nodes, at most 1024; for edge-list by default those of the edges");
  command->add_option("--degree", options->degree, "Neighbours of each node of a random-regular graph");
  AddSeedOption(*command, &options->seed, "Seed of a random-regular graph");
  command->add_option("--edges", options->edges,
                      "Of an edge-list: 0-1,1-2 or [[0,1],[1,2]], or a file with such edges, one or more a line");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--dot", options->dot, "Print the graph for Graphviz");
  command->add_option("--svg", options->svg, "Draw it into this file, with Graphviz where it is installed")
      ->option_text("FILE");
  command->callback([options, exit_code] { *exit_code = ReportStatus(Run(*options)); });
}

}  // namespace weft
