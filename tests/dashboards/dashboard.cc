#include "tests/dashboards/dashboard.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

namespace weft {

nlohmann::json ReadDashboard(const std::string& name) {
  return nlohmann::json::parse(std::ifstream("dashboards/" + name));
}

std::vector<DashboardQuery> QueriesOf(const nlohmann::json& dashboard) {
  std::vector<DashboardQuery> queries;
  std::string row;
  for (const nlohmann::json& panel : dashboard["panels"]) {
    if (panel["type"] == "row") {
      row = panel["title"];
      continue;
    }
    for (const nlohmann::json& target : panel["targets"]) queries.push_back({row, panel["title"], target["expr"]});
  }
  return queries;
}

std::string Substituted(std::string expression, const std::map<std::string, std::string>& variables) {
  for (const auto& [name, value] : variables) {
    for (const std::string& written : {"${" + name + "}", "$" + name}) {
      for (std::size_t at; (at = expression.find(written)) != std::string::npos;) {
        expression.replace(at, written.size(), value);
      }
    }
  }
  return expression;
}

std::set<std::string> MetricNamesIn(const std::string& text) {
  static const std::regex kName("weft_[a-z_]+");
  static const std::regex kSuffix("_(bucket|sum|count)$");
  std::set<std::string> names;
  for (std::sregex_iterator name(text.begin(), text.end(), kName); name != std::sregex_iterator(); ++name) {
    names.insert(std::regex_replace(name->str(), kSuffix, ""));
  }
  return names;
}

}  // namespace weft
