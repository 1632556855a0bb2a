// A Grafana dashboard in dashboards/, as the tests look at it.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

namespace weft {

struct DashboardQuery {
  std::string row;  // the title of the row that the panel stands in
  std::string panel;
  std::string expression;  // PromQL with Grafana's variables
};

// dashboards/`name`.
nlohmann::json ReadDashboard(const std::string& name);

// Of all panels, in order.
std::vector<DashboardQuery> QueriesOf(const nlohmann::json& dashboard);

// The expression as Grafana sends it: "$name" and "${name}" become their values.
std::string Substituted(std::string expression, const std::map<std::string, std::string>& variables);

// The names in `text` that begin with weft_, without a histogram's suffix.
std::set<std::string> MetricNamesIn(const std::string& text);

}  // namespace weft
