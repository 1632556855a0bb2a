// dashboards/: Grafana reads the dashboards, Prometheus the rules, and both know the metrics by the names that they are
// exported by. scrape_test.cc runs the training dashboard against real runs. The operator's has its names from
// controller-runtime's conventions, and here only its PromQL is held.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/metrics/names.h"
#include "tests/common/temporary_folder.h"
#include "tests/dashboards/dashboard.h"
#include "tests/dashboards/shell.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Json = nlohmann::json;

ToolOutcome Validate(const std::string& file) {
  return RunTool("/usr/bin/python3 -m jsonschema -i " + file + " tests/dashboards/grafana-dashboard.schema.json");
}

class DashboardTest : public testing::TestWithParam<const char*> {
 protected:
  const Json dashboard_ = ReadDashboard(GetParam());
};

TEST_P(DashboardTest, Whole_IsWhatGrafanasSchemaSays) {
  const ToolOutcome outcome = Validate(std::string("dashboards/") + GetParam());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
}

TEST_P(DashboardTest, Broken_IsRefusedByTheSchema) {
  const TemporaryFolder folder;
  const auto refuse = [&](const char* pointer, const Json& value) {
    Json broken = dashboard_;
    broken[Json::json_pointer(pointer)] = value;
    WriteBytes(folder / "broken.json", broken.dump());
    EXPECT_EQ(Validate(folder / "broken.json").exit_code, 1) << pointer;
  };
  refuse("/panels/1/type", "graph");
  refuse("/panels/1/options/colorMode", "rainbow");
  refuse("/panels/1/gridPos/w", "wide");
  refuse("/templating/list/0/type", "data source");
  refuse("/unknown", 1);
}

TEST_P(DashboardTest, Dashboard_BelongsToNoServer) {
  EXPECT_FALSE(dashboard_.contains("uid"));
  EXPECT_FALSE(dashboard_.contains("id"));
  EXPECT_GE(dashboard_["schemaVersion"], 41);
  EXPECT_FALSE(dashboard_["links"].empty());
  const std::vector<Json> variables = dashboard_["templating"]["list"];
  ASSERT_GE(variables.size(), 2u);
  EXPECT_EQ(variables[0]["type"], "datasource");
  EXPECT_EQ(variables[1]["multi"], true);
  EXPECT_EQ(variables[1]["includeAll"], true);
}

TEST_P(DashboardTest, EachPanel_HasUnitDescriptionAndPlaceOfItsOwn) {
  std::set<int> ids;
  std::set<std::pair<int, int>> cells;
  for (const Json& panel : dashboard_["panels"]) {
    SCOPED_TRACE(panel["title"]);
    EXPECT_TRUE(ids.insert(panel["id"].get<int>()).second);
    const Json& place = panel["gridPos"];
    EXPECT_LE(place["x"].get<int>() + place["w"].get<int>(), 24);
    for (int x = 0; x < place["w"]; ++x) {
      for (int y = 0; y < place["h"]; ++y) {
        EXPECT_TRUE(cells.insert({place["x"].get<int>() + x, place["y"].get<int>() + y}).second) << "overlaps";
      }
    }
    if (panel["type"] == "row") continue;
    EXPECT_GT(panel["description"].get<std::string>().size(), 10u);
    EXPECT_EQ(panel["datasource"]["uid"], "${datasource}");
    const bool heatmap = panel["type"] == "heatmap";
    const Json unit = panel.at(Json::json_pointer(heatmap ? "/options/cellValues/unit" : "/fieldConfig/defaults/unit"));
    EXPECT_THAT(unit.get<std::string>(), Not(IsEmpty()));
    for (const Json& target : panel["targets"]) EXPECT_EQ(target["datasource"]["uid"], "${datasource}");
  }
}

// promtool parses the expressions of rules: each becomes one.
TEST_P(DashboardTest, EachExpression_IsPromQL) {
  // The variable of what is shown: each panel obeys it.
  std::string chosen = dashboard_["templating"]["list"][1]["name"];
  chosen.insert(0, 1, '$');
  Json rules = Json::array();
  for (const DashboardQuery& query : QueriesOf(dashboard_)) {
    EXPECT_THAT(query.expression, HasSubstr(chosen)) << query.panel;
    rules.push_back(
        {{"record", "panel" + std::to_string(rules.size())},
         {"expr",
          Substituted(query.expression,
                      {{"training_job", ".*"}, {"instance", ".*"}, {"group", "0"}, {"__rate_interval", "1m"}})}});
  }
  const TemporaryFolder folder;
  const Json file = {{"groups", {{{"name", "panels"}, {"rules", rules}}}}};
  WriteBytes(folder / "rules.yaml", file.dump());  // JSON is YAML
  const ToolOutcome outcome = RunTool("promtool check rules " + folder / "rules.yaml");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr(std::to_string(rules.size()) + " rules found"));
}

INSTANTIATE_TEST_SUITE_P(Dashboards, DashboardTest, testing::Values("training.json", "operator.json"),
                         [](const auto& named) {
                           return std::string(named.param, std::string(named.param).find('.'));
                         });

TEST(TrainingDashboardTest, Metrics_AreThoseThatAreExported) {
  std::set<std::string> exported;
  for (const MetricInfo* info : AllMetrics()) exported.insert(info->name);
  EXPECT_EQ(MetricNamesIn(ReadDashboard("training.json").dump()), exported);
}

TEST(OperatorDashboardTest, Metrics_AreNoneOfAJob) {
  EXPECT_THAT(MetricNamesIn(ReadDashboard("operator.json").dump()), IsEmpty());
}

TEST(AlertsTest, Rules_AreRead) {
  const ToolOutcome outcome = RunTool("promtool check rules dashboards/alerts.yaml");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
}

TEST(AlertsTest, EachAlert_FiresInItsTestAndIsQuietInAHealthyOne) {
  const ToolOutcome outcome = RunTool("promtool test rules tests/dashboards/alerts_test.yaml");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  std::ostringstream tests;
  tests << std::ifstream("tests/dashboards/alerts_test.yaml").rdbuf();
  std::ifstream rules("dashboards/alerts.yaml");
  int alerts = 0;
  for (std::string line; std::getline(rules, line);) {
    const std::size_t name = line.find("alert: ");
    if (name == std::string::npos) continue;
    ++alerts;
    EXPECT_THAT(tests.str(), HasSubstr("alertname: " + line.substr(name + 7) + "\n"));
  }
  EXPECT_GT(alerts, 0);
}

TEST(PrometheusConfigurationTest, IsRead) {
  const ToolOutcome outcome = RunTool("promtool check config --syntax-only dashboards/prometheus.yaml");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
}

}  // namespace
}  // namespace weft
