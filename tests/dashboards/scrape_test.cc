// A real Prometheus scrapes real runs, found as docs/operations.md says: every metric is there with values that can be
// true, every panel of the training dashboard shows data, and no alert fires.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "common/metrics/names.h"
#include "tests/common/metrics/http_get.h"
#include "tests/common/temporary_folder.h"
#include "tests/dashboards/dashboard.h"
#include "tests/dashboards/running_prometheus.h"
#include "tests/dashboards/shell.h"
#include "tests/integration/running_weft.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Gt;
using testing::IsEmpty;
using testing::Le;
using testing::Lt;
using testing::Optional;
using Json = nlohmann::json;

constexpr Duration kPatience = std::chrono::minutes(4);
constexpr Duration kPoll = std::chrono::seconds(1);
constexpr int kWorkers = 4;

bool HasNumber(const Json& samples) {
  return std::any_of(samples.begin(), samples.end(), [](const Json& sample) {
    return std::isfinite(std::stod(sample["value"][1].get<std::string>()));
  });
}

// What only the other family of strategies has: its row of the dashboard, and its metrics.
struct Absent {
  std::string row;
  std::set<std::string> metrics;
};

const Absent& WithServers() {
  static const Absent absent{"Swarm and gossip",
                             {"weft_swarm_interactions_total", "weft_quantizer_failures_total",
                              "weft_quantizer_distance", "weft_register_mechanism"}};
  return absent;
}

const Absent& WithoutServers() {
  static const Absent absent{
      "Parameter servers",
      {"weft_slot_bandwidth_bytes_per_second", "weft_slot_overruns_total", "weft_slot_start_error_seconds",
       "weft_staleness_iterations", "weft_server_concurrent_transfers", "weft_plan_measured_seconds"}};
  return absent;
}

class ScrapeTest : public testing::Test {
 protected:
  // A job that goes on until it is stopped.
  void WriteJob(const std::string& name, const std::string& strategy, int servers) {
    std::ofstream(folder_ / "job.yaml") << R"(apiVersion: weft.dev/v1alpha1
kind: TrainingJob
metadata: {name: )" << name << R"(}
spec:
  strategy: {type: )" << strategy << R"(}
  model: {name: mlp, mlp: {hiddenSizes: [64, 32]}}
  data: {format: IDX, path: /usr/share/datasets/fashion-mnist}
  training: {epochs: 10000, batchSizePerWorker: 64, seed: 3, optimizer: {learningRate: 0.01}}
  worker: {replicas: )" << kWorkers << R"(}
  server: {replicas: )" << servers << R"(}
)";
  }

  std::vector<std::string> Arguments(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"run",           folder_ / "job.yaml",   "--out",
                                          folder_ / "run", "--prometheus-targets", folder_ / "targets"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  // Until every query of the dashboard and its variables has given a number, but for those in `absent`.
  void ExpectEachPanelShowsData(const RunningPrometheus& prometheus, const std::string& job, const Absent& absent) {
    const Json dashboard = ReadDashboard("training.json");
    // Several jobs chosen, as Grafana writes them.
    const std::map<std::string, std::string> variables = {
        {"training_job", "(" + job + "|another)"}, {"group", "0"}, {"__rate_interval", "10s"}};
    std::map<std::string, std::string> waiting;  // by expression: where it stands
    for (const DashboardQuery& query : QueriesOf(dashboard)) {
      if (query.row != absent.row) waiting[Substituted(query.expression, variables)] = query.row + " / " + query.panel;
    }
    ASSERT_GT(waiting.size(), 20u);
    const TimePoint deadline = Clock::Steady().Now() + kPatience;
    while (!waiting.empty() && !HasFailure() && Clock::Steady().Now() < deadline) {
      std::erase_if(waiting, [&](const auto& query) { return HasNumber(prometheus.Query(query.first)); });
      std::this_thread::sleep_for(kPoll);
    }
    EXPECT_THAT(waiting, IsEmpty());

    for (const Json& variable : dashboard["templating"]["list"]) {
      if (variable["type"] != "query" || absent.metrics.contains(*MetricNamesIn(variable.dump()).begin())) continue;
      const std::string label = variable["name"];
      const std::string call = variable["query"]["query"];  // label_values(METRIC, LABEL)
      const std::string metric = call.substr(13, call.rfind(',') - 13);
      EXPECT_FALSE(prometheus.Query("count by (" + label + ") (" + Substituted(metric, variables) + ")").empty())
          << call;
    }
  }

  // Whatever is exported at all is exported in this run, but for what is `absent`.
  void ExpectEachMetric(const RunningPrometheus& prometheus, const Absent& absent) {
    for (const MetricInfo* info : AllMetrics()) {
      const bool histogram = info->type == MetricType::kHistogram;
      const std::string role =
          std::string(info->exported_by) == "evaluator" ? "worker|server" : std::string(info->exported_by);
      const Json samples =
          prometheus.Query(std::string(info->name) + (histogram ? "_count" : "") + "{role=~\"" + role + "\"}");
      EXPECT_EQ(samples.empty(), absent.metrics.contains(info->name)) << info->name;
      for (const Json& sample : samples) {
        for (const char* label : info->labels) EXPECT_TRUE(sample["metric"].contains(label)) << sample;
      }
    }
  }

  void ExpectLintFindsNothing(const std::map<std::string, std::string>& ports) {
    for (const auto& [role, port] : ports) {
      const std::string answer = HttpGet(std::stoi(port), "/metrics");
      const std::string file = folder_ / (role + ".txt");
      WriteBytes(file, answer.substr(answer.find("\r\n\r\n") + 4));
      const ToolOutcome lint = RunTool("promtool check metrics < " + file);
      EXPECT_EQ(lint.exit_code, 0) << role << ": " << lint.output;
      EXPECT_EQ(lint.output, "") << role;
    }
  }

  // By role, of the first rank of each.
  std::map<std::string, std::string> PortsByRole() const {
    std::map<std::string, std::string> ports;
    for (const Json& target : Json::parse(std::ifstream(folder_ / "targets/run.json"))) {
      const std::string address = target["targets"][0];
      ports.emplace(target["labels"]["role"], address.substr(address.find(':') + 1));
    }
    return ports;
  }

  void ExpectNoAlert(const RunningPrometheus& prometheus) {
    int rules = 0;
    const Json data = prometheus.Get("/api/v1/rules");
    for (const Json& group : data["groups"]) {
      for (const Json& rule : group["rules"]) {
        ++rules;
        EXPECT_EQ(rule["health"], "ok") << rule;
        EXPECT_NE(rule["state"], "firing") << rule;
      }
    }
    EXPECT_EQ(rules, 7);
  }

  void ExpectCommonValues(const RunningPrometheus& prometheus, const std::string& job) {
    const std::string of_job = "{training_job=\"" + job + "\"}";
    EXPECT_THAT(prometheus.Value("weft_workers" + of_job), Optional(kWorkers));
    EXPECT_THAT(prometheus.Value("weft_membership_generation" + of_job), Optional(1));
    EXPECT_THAT(prometheus.Value("weft_recommended_workers" + of_job), Optional(AllOf(Ge(1), Le(256))));
    EXPECT_THAT(prometheus.Value("weft_progress_ratio" + of_job), Optional(AllOf(Gt(0), Lt(1))));
    EXPECT_THAT(prometheus.Value("weft_model_variance" + of_job), Optional(Gt(0)));
    EXPECT_THAT(prometheus.Value("weft_accuracy" + of_job), Optional(AllOf(Gt(0.3), Le(1))));        // of ten classes
    EXPECT_THAT(prometheus.Value("avg(weft_loss" + of_job + ")"), Optional(AllOf(Gt(0), Lt(2.3))));  // < ln 10
    EXPECT_THAT(prometheus.Value("weft_plan_predicted_iteration_seconds" + of_job), Optional(AllOf(Gt(1e-4), Lt(1))));
    EXPECT_THAT(prometheus.Value("weft_plan_drift_ratio" + of_job), Optional(Gt(-1)));
    EXPECT_THAT(prometheus.Value("count(weft_iteration_seconds_count" + of_job + " > 0)"), Optional(kWorkers));
    EXPECT_THAT(prometheus.Value("sum(weft_iteration_seconds_sum - weft_compute_seconds_sum) / "
                                 "sum(weft_stall_seconds_total)"),
                Optional(AllOf(Gt(0.9), Lt(1.1))));  // a scrape may fall between the two
    EXPECT_THAT(prometheus.Value("sum(weft_transfer_bytes_total" + of_job + ")"), Optional(Gt(1e6)));
  }

  TemporaryFolder folder_;
};

TEST_F(ScrapeTest, InterleavedPS_EachMetricAndPanelHasDataAndNoAlertFires) {
  constexpr int kBase = 21880;  // below the ports that the system hands out itself
  WriteJob("interleaved", "InterleavedPS, parameterServer: {period: 2, fusion: PerLayer}", 1);
  const RunningPrometheus prometheus(folder_.path());
  RunningWeft weft(Arguments({"--metrics-port", std::to_string(kBase)}), folder_.path());
  ExpectEachPanelShowsData(prometheus, "interleaved", WithServers());
  ASSERT_FALSE(HasFailure()) << weft.Output();

  ExpectEachMetric(prometheus, WithServers());
  ExpectCommonValues(prometheus, "interleaved");
  EXPECT_THAT(prometheus.Value("count(up == 1)"), Optional(kWorkers + 2));
  EXPECT_THAT(prometheus.Value("up{role=\"worker\", rank=\"2\", instance=\"127.0.0.1:21883\"}"), Optional(1));
  // Three layers with weights, two places to be sent in: each worker has been in each slot.
  EXPECT_THAT(prometheus.Value("count(weft_slot_bandwidth_bytes_per_second{role=\"coordinator\"} > 0)"),
              Optional(3 * kWorkers));
  EXPECT_THAT(prometheus.Value("count(weft_slot_bandwidth_bytes_per_second{role=\"worker\"} > 0)"),
              Optional(3 * kWorkers));
  EXPECT_THAT(prometheus.Value("count(weft_plan_measured_seconds > 0)"), Optional(3));
  EXPECT_THAT(prometheus.Value("count(weft_plan_predicted_seconds > 0)"), Optional(3));
  // Of short transfers, several fit into a round trip, and into more where the processors are busy: up to 16
  // (LinkScheduler).
  EXPECT_THAT(prometheus.Value("max(weft_server_concurrent_transfers)"), Optional(AllOf(Ge(0), Le(16))));
  EXPECT_THAT(prometheus.Value("sum(weft_transfer_bytes_total{direction=\"push\"}) / "
                               "sum(weft_transfer_bytes_total{direction=\"pull\"})"),
              Optional(1));
  // A centre is at least one iteration old, and two periods at most while nobody is late.
  EXPECT_THAT(prometheus.Value("sum(weft_staleness_iterations_sum) / sum(weft_staleness_iterations_count)"),
              Optional(AllOf(Ge(1), Lt(8))));
  ExpectNoAlert(prometheus);
  ExpectLintFindsNothing(PortsByRole());
  EXPECT_EQ(PortsByRole().size(), 3u);

  weft.Signal(SIGINT);
  ASSERT_TRUE(weft.WaitForExit(kPatience).has_value());
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "targets"));
}

TEST_F(ScrapeTest, Swarm_EachMetricAndPanelHasDataAndNoAlertFires) {
  WriteJob("swarm", "Swarm, swarm: {localSteps: 2}", 0);
  const RunningPrometheus prometheus(folder_.path());
  RunningWeft weft(Arguments(), folder_.path());
  ExpectEachPanelShowsData(prometheus, "swarm", WithoutServers());
  ASSERT_FALSE(HasFailure()) << weft.Output();

  ExpectEachMetric(prometheus, WithoutServers());
  ExpectCommonValues(prometheus, "swarm");
  EXPECT_THAT(prometheus.Value("count(up == 1)"), Optional(kWorkers + 1));
  EXPECT_THAT(prometheus.Value("sum(weft_swarm_interactions_total{result=\"averaged\"})"), Optional(Gt(100)));
  EXPECT_THAT(prometheus.Value("count(weft_quantizer_distance > 0)"), Optional(kWorkers));
  EXPECT_THAT(prometheus.Value("sum(weft_register_mechanism)"), Optional(kWorkers));
  ExpectNoAlert(prometheus);
  ExpectLintFindsNothing(PortsByRole());
  EXPECT_EQ(PortsByRole().size(), 2u);

  // Also where the coordinator can't take it away.
  const std::vector<RunProcess> processes = weft.Processes();
  kill(Find(processes, "weft-coordinator")->pid, SIGKILL);
  ASSERT_TRUE(weft.WaitForExit(kPatience).has_value());
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "targets"));
}

}  // namespace
}  // namespace weft
