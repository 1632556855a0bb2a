// Where Prometheus finds the metrics of a run: a file for its file_sd_configs.
#pragma once

#include <map>
#include <string>

namespace weft {

// A target for the coordinator and for each rank, at "ADDRESS:PORT", labelled with training_job, role (coordinator,
// worker or server) and, of a rank, its number: ranks below `workers` are workers. JSON as Prometheus's file-based
// discovery reads it.
std::string PrometheusTargets(const std::string& training_job, int workers, const std::string& coordinator,
                              const std::map<int, std::string>& ranks);

}  // namespace weft
