// A Prometheus as dashboards/prometheus.yaml sets it up, but scraping each second.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "coordinator/launch/process.h"

namespace weft {

class RunningPrometheus {
 public:
  // Starts it on a free port, with its configuration, rules and data in `folder`, and waits until it is ready. It
  // scrapes what is told in `folder`/targets.
  explicit RunningPrometheus(const std::string& folder);
  ~RunningPrometheus();
  RunningPrometheus(const RunningPrometheus&) = delete;
  RunningPrometheus& operator=(const RunningPrometheus&) = delete;

  // The samples that the expression gives now, {"metric": {…}, "value": [time, "…"]} each. An expression that is
  // refused fails the test.
  nlohmann::json Query(const std::string& expression) const;
  // The one value that it gives; nothing when there are none or several.
  std::optional<double> Value(const std::string& expression) const;
  // GET `path`: the answer's "data".
  nlohmann::json Get(const std::string& path) const;

 private:
  int port_ = 0;
  std::optional<Process> process_;
};

}  // namespace weft
