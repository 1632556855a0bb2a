#include "coordinator/service/prometheus_targets.h"

#include <nlohmann/json.hpp>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

Json Target(const std::string& training_job, const std::string& role, const std::string& address) {
  Json labels;
  labels["training_job"] = training_job;
  labels["role"] = role;
  return {{"targets", {address}}, {"labels", std::move(labels)}};
}

}  // namespace

std::string PrometheusTargets(const std::string& training_job, int workers, const std::string& coordinator,
                              const std::map<int, std::string>& ranks) {
  Json targets = Json::array({Target(training_job, "coordinator", coordinator)});
  for (const auto& [rank, address] : ranks) {
    Json target = Target(training_job, rank < workers ? "worker" : "server", address);
    target["labels"]["rank"] = std::to_string(rank);
    targets.push_back(std::move(target));
  }
  return targets.dump(2) + "\n";
}

}  // namespace weft
