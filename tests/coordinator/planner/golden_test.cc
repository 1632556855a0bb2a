// Golden scripts: a timeline and the job's size in, the plan out as the paper's figures show it. Each file in testdata
// has lines of settings and layers, a line "plan", and what the plan must read.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "common/plan/names.h"
#include "coordinator/planner/planner.h"

namespace weft {
namespace {

struct Script {
  PlanRequest request;
  std::string expected;
};

// Settings: "workers 4", "servers 1", "period 3", "fusion PerLayer", "phase …", "window …", "tail …", "strategy …",
// "link ALPHA_US US_PER_BYTE", "optimizer US", and "layer NAME BYTES FORWARD_US BACKWARD_US" in forward order.
Script ReadScript(const std::string& path) {
  Script script;
  PlanRequest& request = script.request;
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::string line;
  while (std::getline(file, line) && line != "plan") {
    std::istringstream words(line);
    std::string key;
    std::string name;
    words >> key;
    if (key.empty() || key[0] == '#') continue;
    if (key == "workers") {
      words >> request.workers;
    } else if (key == "servers") {
      words >> request.servers;
    } else if (key == "period") {
      words >> request.options.period;
    } else if (key == "optimizer") {
      words >> request.timeline.optimizer_us;
    } else if (key == "link") {
      Link link;
      words >> link.latency_us >> link.us_per_byte;
      request.links = {{link}};
    } else if (key == "layer") {
      LayerTiming layer;
      words >> layer.name >> layer.bytes >> layer.forward_us >> layer.backward_us;
      request.timeline.layers.push_back(layer);
    } else if (words >> name) {
      if (key == "fusion") {
        request.options.fusion = FromName<Fusion>(name).value();
        request.options.exact_fusion = true;
      } else if (key == "phase") {
        request.options.phase = FromName<PhaseRule>(name).value();
      } else if (key == "window") {
        request.options.window = FromName<WindowRule>(name).value();
      } else if (key == "tail") {
        request.options.tail = FromName<Tail>(name).value();
      } else if (key == "strategy") {
        request.strategy = FromName<StrategyType>(name).value();
      } else {
        ADD_FAILURE() << path << ": unknown setting " << line;
      }
    }
    EXPECT_FALSE(words.fail()) << path << ": " << line;
  }
  std::vector<LayerTiming>& layers = request.timeline.layers;
  double start = 0;
  for (std::size_t i = layers.size(); i-- > 0;) {
    layers[i].backward_start_us = start;
    start += layers[i].backward_us;
  }
  request.timeline.end_us = start;
  std::ostringstream rest;
  rest << file.rdbuf();
  script.expected = rest.str();
  return script;
}

// To a millionth of a microsecond, so that a rounding does not read as a time.
double Rounded(double us) { return std::round(us * 1e6) / 1e6 + 0.0; }

std::string Shown(const Plan& plan) {
  std::ostringstream out;
  out.precision(9);
  out << "T " << plan.period << ", compute " << Rounded(plan.compute_us) << ", iteration " << Rounded(plan.iteration_us)
      << "\n";
  for (int t = 1; t <= plan.period; ++t) {
    std::string sent;
    for (const PlanGroup& group : plan.groups) {
      if (Synchronizes(plan.phase, plan.period, group.index, t)) sent.append(" ").append(std::to_string(group.index));
    }
    if (!sent.empty()) out << "iteration " << t << " sends" << sent << "\n";
  }
  for (const PlanGroup& group : plan.groups) {
    out << "group " << group.index << ":";
    for (const std::string& layer : group.layers) out << " " << layer;
    out << ", " << group.bytes << " bytes, " << Rounded(group.window_from_us) << " to " << Rounded(group.window_to_us)
        << ", slot " << Rounded(group.slot_us) << ", transfer " << Rounded(group.transfer_us) << ", stall "
        << Rounded(group.stall_us) << "\n";
  }
  for (const Shard& shard : plan.shards) {
    if (plan.servers == 1) break;
    out << "server " << shard.server << " keeps floats " << shard.first << " to " << shard.first + shard.count - 1
        << " of group " << shard.group << "\n";
  }
  out << plan.reason << "\n";
  return out.str();
}

TEST(GoldenPlans, EveryScript_GivesThePlanBelowIt) {
  int scripts = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/coordinator/planner/testdata")) {
    ++scripts;
    const Script script = ReadScript(entry.path());
    const Result<Plan> plan = MakePlan(script.request);
    EXPECT_EQ(plan.ok() ? Shown(*plan) : plan.status().message() + "\n", script.expected) << entry.path();
  }
  EXPECT_GE(scripts, 5);
}

}  // namespace
}  // namespace weft
