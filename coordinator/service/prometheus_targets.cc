#include "coordinator/service/prometheus_targets.h"

#include <nlohmann/json.hpp>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

Json Target(const std::string& training_job, const std::string& role, int port) {
  Json labels;
  labels["training_job"] = training_job;
  labels["role"] = role;
  return {{"targets", {"127.0.0.1:" + std::to_string(port)}}, {"labels", std::move(labels)}};
}

}  // namespace

std::string PrometheusTargets(const std::string& training_job, int workers, int coordinator_port,
                              const std::map<int, int>& rank_ports) {
  Json targets = Json::array({Target(training_job, "coordinator", coordinator_port)});
  for (const auto& [rank, port] : rank_ports) {
    Json target = Target(training_job, rank < workers ? "worker" : "server", port);
    target["labels"]["rank"] = std::to_string(rank);
    targets.push_back(std::move(target));
  }
  return targets.dump(2) + "\n";
}

}  // namespace weft
