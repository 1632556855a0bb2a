// `weft run` as a user meets it: real processes on real images, stopped, killed and resumed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "tests/common/metrics/http_get.h"
#include "tests/integration/running_weft.h"

namespace weft {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

// Delays of messages in microseconds that make a run take long enough to be met in its middle, and change no bits.
constexpr const char* kSlow = "3000";
constexpr Duration kWholeRun = std::chrono::minutes(5);
// What the documentation promises.
constexpr Duration kKillTime = std::chrono::seconds(10);

class RunTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "weft_run_XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
    WriteJob(200);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Two workers and a server, iterations of a few milliseconds.
  void WriteJob(int iterations) {
    std::ofstream(Path("job.yaml")) << R"(apiVersion: weft.dev/v1alpha1
kind: TrainingJob
metadata: {name: small}
spec:
  strategy: {type: InterleavedPS, parameterServer: {period: 2, fusion: PerLayer}}
  model: {name: mlp, mlp: {hiddenSizes: [64, 32]}}
  data: {format: IDX, path: /usr/share/datasets/fashion-mnist}
  training: {epochs: 100, iterations: )"
                                    << iterations << R"(, batchSizePerWorker: 16, seed: 3}
  worker: {replicas: 2}
  server: {replicas: 1}
)";
  }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::vector<std::string> Run(const std::string& out, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"run", Path("job.yaml"), "--out", Path(out)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  // Runs to the end and expects success.
  void Complete(const std::vector<std::string>& arguments) {
    RunningWeft weft(arguments, folder_);
    const auto exit = weft.WaitForExit(kWholeRun);
    ASSERT_TRUE(exit.has_value());
    ASSERT_EQ(exit->ToString(), "ended with exit code 0") << weft.Output();
  }

  // A run that trains, all its processes seen.
  std::unique_ptr<RunningWeft> Training(const std::string& out, const std::vector<std::string>& more = {}) {
    auto weft = std::make_unique<RunningWeft>(Run(out, more), folder_);
    EXPECT_TRUE(weft->WaitForText(Path(out) + "/metrics.jsonl", "\"iteration\":3,")) << weft->Output();
    return weft;
  }

  // Kills one process of a run that trains: it ends in time, names `cause`, and leaves nothing.
  void ExpectEndAfterKill(const std::string& program, const std::string& rank, const std::string& cause,
                          const std::vector<std::string>& more = {}) {
    WriteJob(100000);
    const auto weft = Training("run", more);
    const std::vector<RunProcess> processes = weft->Processes();
    const auto victim = Find(processes, program, rank);
    const auto coordinator = Find(processes, "weft-coordinator");
    ASSERT_TRUE(victim.has_value() && coordinator.has_value());
    kill(victim->pid, SIGKILL);
    const auto exit = weft->WaitForExit(kKillTime);
    ASSERT_TRUE(exit.has_value()) << "still there after 10 s";
    EXPECT_EQ(exit->ToString(), "ended with exit code 1");
    EXPECT_THAT(weft->Output(), HasSubstr(cause));
    EXPECT_THAT(weft->Output(), HasSubstr("no checkpoint yet: nothing to resume from"));
    ExpectNothingLeft(processes, *coordinator, Duration{});
  }

  void ExpectNothingLeft(const std::vector<RunProcess>& processes, const RunProcess& coordinator, Duration at_most) {
    EXPECT_TRUE(AllGone(processes, at_most)) << "a process is left";
    EXPECT_TRUE(std::filesystem::is_empty(Path("tmp"))) << "a temporary file is left";
    EXPECT_FALSE(std::filesystem::exists(ArgumentOf(coordinator, "--segment-directory"))) << "a segment is left";
  }

  // The last evaluation in the run's metrics.
  Json LastEvaluation(const std::string& run) {
    Json last;
    std::ifstream metrics(Path(run) + "/metrics.jsonl");
    for (std::string line; std::getline(metrics, line);) {
      if (const Json record = Json::parse(line); record.contains("evaluation")) last = record;
    }
    return last;
  }

  // Each worker's iterations stand once in the run's metrics.
  void ExpectEachIterationOnce(const std::string& run, int iterations) {
    std::map<std::pair<int, int>, int> lines;
    std::ifstream metrics(Path(run) + "/metrics.jsonl");
    for (std::string line; std::getline(metrics, line);) {
      const Json record = Json::parse(line);
      if (record.contains("rank")) ++lines[{record["rank"].get<int>(), record["iteration"].get<int>()}];
    }
    EXPECT_EQ(lines.size(), 2 * static_cast<std::size_t>(iterations));
    for (const auto& [key, count] : lines) EXPECT_EQ(count, 1) << "rank " << key.first << " iteration " << key.second;
  }

  std::string folder_;
};

TEST_F(RunTest, WholeRun_LeavesItsFilesAndASummary) {
  Complete(Run("run"));
  for (const char* name : {"job.yaml", "plan.json", "timeline.json", "metrics.jsonl", "trace.json", "model.safetensors",
                           "summary.json", "report.html"}) {
    EXPECT_TRUE(std::filesystem::exists(Path("run/") + name)) << name;
  }
  const Json summary = Json::parse(ReadWholeFile(Path("run/summary.json")));
  EXPECT_EQ(summary["iterations"], 200);
  EXPECT_EQ(summary["workers"], 2);
  EXPECT_EQ(summary["servers"], 1);
  EXPECT_EQ(summary["period"], 2);
  EXPECT_GT(summary["accuracy"], 0.5);
  EXPECT_GT(summary["images_per_second"], 0);
  EXPECT_THAT(ReadWholeFile(Path("out")), HasSubstr("measuring the model"));
  EXPECT_THAT(ReadWholeFile(Path("out")), HasSubstr("times the compute alone"));
}

TEST_F(RunTest, OnePlanAndSeed_GiveTheSameModelWhateverTheDelays) {
  Complete(Run("first"));
  const std::string plan = Path("first/plan.json");
  Complete(Run("second", {"--plan", plan, "--inject-delay-us", "500"}));
  Complete(Run("other", {"--plan", plan, "--set", "training.seed=4"}));
  const std::string model = ReadWholeFile(Path("first/model.safetensors"));
  EXPECT_FALSE(model.empty());
  EXPECT_TRUE(ReadWholeFile(Path("second/model.safetensors")) == model);
  EXPECT_FALSE(ReadWholeFile(Path("other/model.safetensors")) == model);
}

TEST_F(RunTest, ServerWithoutShards_IsLeftOutOfTheCentre) {
  const std::vector<std::string> two_servers = {"--set", "server.replicas=2", "--set", "training.iterations=4000"};
  Complete(Run("first", two_servers));
  Json plan = Json::parse(ReadWholeFile(Path("first/plan.json")));
  for (Json& shard : plan["shards"]) shard["server"] = 0;
  std::ofstream(Path("plan.json")) << plan;
  std::vector<std::string> arguments = two_servers;
  arguments.insert(arguments.end(), {"--plan", Path("plan.json")});
  Complete(Run("run", arguments));  // evaluates after an epoch and at the end
  EXPECT_TRUE(ReadWholeFile(Path("run/model.safetensors")) == ReadWholeFile(Path("first/model.safetensors")));
  for (const char* run : {"first", "run"}) {
    const Json last = LastEvaluation(run);
    EXPECT_EQ(last["iteration"], 4000) << last;
    EXPECT_EQ(last["epoch"], 2) << last;  // of 1875 iterations
    EXPECT_EQ(last["final"], true) << last;
  }

  arguments.insert(arguments.end(), {"--inject-delay-us", kSlow});
  const auto weft = Training("stopped", arguments);
  weft->Signal(SIGINT);
  const auto exit = weft->WaitForExit(kKillTime);
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->ToString(), "ended with exit code 130") << weft->Output();
  EXPECT_THAT(weft->Output(), HasSubstr("weft run --resume " + Path("stopped")));
}

TEST_F(RunTest, MetricsPortGiven_EachRankServesAtItsOwn) {
  constexpr int kBase = 21870;  // below the ports that the system hands out itself
  WriteJob(100000);
  const auto weft = Training("run", {"--metrics-port", std::to_string(kBase)});
  for (int port = kBase; port <= kBase + 3; ++port) {  // the coordinator, two workers, the server
    EXPECT_THAT(HttpGet(port, "/metrics"), HasSubstr("weft_")) << port;
  }
  weft->Signal(SIGINT);
  EXPECT_TRUE(weft->WaitForExit(kKillTime).has_value());
}

TEST_F(RunTest, Interrupted_LeavesACheckpointAndResumesToTheSameModel) {
  WriteJob(4000);
  Complete(Run("whole"));
  {
    const auto weft = Training("stopped", {"--plan", Path("whole/plan.json"), "--inject-delay-us", kSlow});
    const std::vector<RunProcess> processes = weft->Processes();
    weft->Signal(SIGINT);
    const auto exit = weft->WaitForExit(kKillTime);
    ASSERT_TRUE(exit.has_value());
    EXPECT_EQ(exit->ToString(), "ended with exit code 130") << weft->Output();
    EXPECT_THAT(weft->Output(), HasSubstr("weft run --resume " + Path("stopped")));
    ExpectNothingLeft(processes, *Find(processes, "weft-coordinator"), Duration{});
  }
  Complete({"run", "--resume", Path("stopped")});
  EXPECT_TRUE(ReadWholeFile(Path("stopped/model.safetensors")) == ReadWholeFile(Path("whole/model.safetensors")));
  ExpectEachIterationOnce("stopped", 4000);
}

TEST_F(RunTest, WithoutServersInterrupted_ResumesToTheSameModel) {
  WriteJob(30000);
  const std::vector<std::string> strategy = {"--set", "strategy.type=LocalSGD"};
  Complete(Run("whole", strategy));
  std::vector<std::string> arguments = strategy;
  arguments.insert(arguments.end(), {"--plan", Path("whole/plan.json")});
  {
    const auto weft = Training("stopped", arguments);
    weft->Signal(SIGINT);
    const auto exit = weft->WaitForExit(kKillTime);
    ASSERT_TRUE(exit.has_value());
    ASSERT_EQ(exit->ToString(), "ended with exit code 130") << weft->Output();
  }
  Complete({"run", "--resume", Path("stopped")});
  EXPECT_TRUE(ReadWholeFile(Path("stopped/model.safetensors")) == ReadWholeFile(Path("whole/model.safetensors")));
  ExpectEachIterationOnce("stopped", 30000);
}

TEST_F(RunTest, AsynchronousInterrupted_GoesOnWithEachWorkerWhereItWas) {
  WriteJob(20000);
  {
    const auto weft =
        Training("stopped", {"--set", "strategy.type=Swarm", "--set", "training.optimizer.learningRate=0.005"});
    const std::vector<RunProcess> processes = weft->Processes();
    weft->Signal(SIGINT);
    const auto exit = weft->WaitForExit(kKillTime);
    ASSERT_TRUE(exit.has_value());
    EXPECT_EQ(exit->ToString(), "ended with exit code 130") << weft->Output();
    ExpectNothingLeft(processes, *Find(processes, "weft-coordinator"), Duration{});
  }
  const std::string stopped = ReadWholeFile(Path("stopped/summary.json"));
  const auto furthest_behind = Json::parse(stopped)["iterations"].get<std::int64_t>();
  EXPECT_TRUE(std::filesystem::exists(Path("stopped/checkpoints/step-" + std::to_string(furthest_behind) + ".json")));
  const std::string trace = ReadWholeFile(Path("stopped/trace.json"));
  {
    RunningWeft weft({"run", "--resume", Path("stopped")}, folder_);
    ASSERT_TRUE(weft.WaitForText(Path("out"), "starting 2 workers")) << weft.Output();
    weft.Signal(SIGINT);
    const auto exit = weft.WaitForExit(kKillTime);
    ASSERT_TRUE(exit.has_value());
    EXPECT_EQ(exit->ToString(), "ended with exit code 130") << weft.Output();
    EXPECT_THAT(weft.Output(), HasSubstr("stopped before it trained on; the run is as it was"));
    EXPECT_THAT(weft.Output(), HasSubstr("weft run --resume " + Path("stopped")));
  }
  EXPECT_EQ(ReadWholeFile(Path("stopped/summary.json")), stopped);
  EXPECT_TRUE(ReadWholeFile(Path("stopped/trace.json")) == trace);
  Complete({"run", "--resume", Path("stopped")});
  ExpectEachIterationOnce("stopped", 20000);
  const Json summary = Json::parse(ReadWholeFile(Path("stopped/summary.json")));
  EXPECT_GT(summary["accuracy"], 0.5);
  EXPECT_GT(summary["interactions"]["averaged"], 0);
}

TEST_F(RunTest, AsynchronousWorkerKilled_IsNamed) {
  ExpectEndAfterKill("weft-agent", "1", "worker 1", {"--set", "strategy.type=Swarm"});
}

TEST_F(RunTest, InterruptedBeforeItTrains_LeavesTheFolderFree) {
  RunningWeft weft(Run("run"), folder_);
  ASSERT_TRUE(weft.WaitForText(Path("out"), "starting 2 workers")) << weft.Output();
  weft.Signal(SIGINT);
  const auto exit = weft.WaitForExit(kKillTime);
  ASSERT_TRUE(exit.has_value()) << "still there after 10 s";
  EXPECT_EQ(exit->ToString(), "ended with exit code 130") << weft.Output();
  EXPECT_THAT(weft.Output(), HasSubstr("stopped before it trained"));
  EXPECT_FALSE(std::filesystem::exists(Path("run")));
}

TEST_F(RunTest, InterruptedAmidThousandsOfIterationsASecond_EndsInTime) {
  WriteJob(5000000);
  RunningWeft weft(Run("run", {"--set", "model.mlp.hiddenSizes=[2]", "--set", "training.batchSizePerWorker=1"}),
                   folder_);
  // Stands on every progress line once the first epoch, of 30,000 iterations, has been evaluated.
  ASSERT_TRUE(weft.WaitForText(Path("out"), "accuracy")) << weft.Output();
  weft.Signal(SIGINT);
  const auto exit = weft.WaitForExit(kKillTime);
  ASSERT_TRUE(exit.has_value()) << "still there after 10 s";
  EXPECT_EQ(exit->ToString(), "ended with exit code 130") << weft.Output();
}

TEST_F(RunTest, SecondInterrupt_EndsAtOnce) {
  WriteJob(100000);
  const auto weft = Training("run");
  const std::vector<RunProcess> processes = weft->Processes();
  kill(Find(processes, "weft-coordinator")->pid, SIGSTOP);  // it does not hear the first one
  weft->Signal(SIGINT);
  ASSERT_TRUE(weft->WaitForText(Path("out"), "again ends at once"));
  weft->Signal(SIGINT);
  const auto exit = weft->WaitForExit(kKillTime);
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->ToString(), "ended with exit code 130");
  ExpectNothingLeft(processes, *Find(processes, "weft-coordinator"), Duration{});
}

TEST_F(RunTest, WorkerKilled_IsNamed) { ExpectEndAfterKill("weft-agent", "1", "worker 1"); }
TEST_F(RunTest, ServerKilled_IsNamed) { ExpectEndAfterKill("weft-agent", "2", "server 0"); }
TEST_F(RunTest, MpirunKilled_IsNamed) { ExpectEndAfterKill("mpirun", "", "mpirun was killed by signal 9"); }
TEST_F(RunTest, CoordinatorKilled_IsNamed) {
  ExpectEndAfterKill("weft-coordinator", "", "the coordinator was killed by signal 9");
}

TEST_F(RunTest, WeftRunKilled_LeavesNothingButTheRun) {
  WriteJob(100000);
  const auto weft = Training("run");
  const std::vector<RunProcess> processes = weft->Processes();
  weft->Signal(SIGKILL);
  ASSERT_TRUE(weft->WaitForExit(kKillTime).has_value());
  ExpectNothingLeft(processes, *Find(processes, "weft-coordinator"), kKillTime);
}

// The plans of two runs with different periods and groups, as those of one run that changes behind 40, 75 and 140.
TEST_F(RunTest, PlansThatChange_GiveTheSameBitsWhateverTheDelaysAndAcrossAStop) {
  WriteJob(20000);
  const auto plan_of = [&](const std::string& name, const std::vector<std::string>& settings) {
    std::vector<std::string> more = {"--set", "training.iterations=5"};
    for (const std::string& setting : settings) more.insert(more.end(), {"--set", setting});
    Complete(Run(name, more));
    return Path(name) + "/plan.json";
  };
  const std::string per_layer = plan_of("per-layer", {});
  const std::string merged =
      plan_of("merged", {"strategy.parameterServer.period=3", "strategy.parameterServer.fusion=MGWFBP"});
  std::filesystem::create_directory(Path("plans"));
  for (const auto& [from, plan] :
       std::map<int, std::string>{{1, per_layer}, {41, merged}, {76, per_layer}, {141, merged}}) {
    std::filesystem::copy_file(plan, Path("plans/plan-" + std::to_string(from) + ".json"));
  }
  Complete(Run("whole", {"--plan", Path("plans")}));
  const std::string model = ReadWholeFile(Path("whole/model.safetensors"));
  ASSERT_FALSE(model.empty());
  for (const char* plan : {"whole/plans/plan-1.json", "whole/plans/plan-41.json", "whole/plans/plan-141.json"}) {
    EXPECT_TRUE(std::filesystem::exists(Path(plan))) << plan;
  }
  EXPECT_EQ(Json::parse(ReadWholeFile(Path("whole/plan.json")))["from_iteration"], 141);
  {
    // Slow at first, so that it is stopped in time.
    const auto weft = Training("stopped", {"--plan", Path("whole/plans"), "--inject-delay-us", kSlow});
    weft->Signal(SIGINT);
    const auto exit = weft->WaitForExit(kKillTime);
    ASSERT_TRUE(exit.has_value());
    EXPECT_EQ(exit->ToString(), "ended with exit code 130") << weft->Output();
  }
  Complete({"run", "--resume", Path("stopped")});
  EXPECT_TRUE(ReadWholeFile(Path("stopped/model.safetensors")) == model);
  EXPECT_EQ(Json::parse(ReadWholeFile(Path("stopped/plan.json")))["from_iteration"], 141);
}

TEST_F(RunTest, WorkerKilledAfterACheckpoint_ResumesFromIt) {
  WriteJob(3000);
  Complete(Run("whole"));
  {
    const auto weft = Training("killed", {"--plan", Path("whole/plan.json"), "--set", "checkpoint.intervalSeconds=1",
                                          "--inject-delay-us", kSlow});
    ASSERT_TRUE(weft->WaitForText(Path("killed/logs/coordinator.log"), "stage"));
    for (const TimePoint deadline = Clock::Steady().Now() + kWholeRun;
         std::filesystem::is_empty(Path("killed/checkpoints")) && Clock::Steady().Now() < deadline;) {
      Clock::Steady().SleepFor(std::chrono::milliseconds(10));
    }
    const auto victim = Find(weft->Processes(), "weft-agent", "0");
    ASSERT_TRUE(victim.has_value()) << weft->Output();
    kill(victim->pid, SIGKILL);
    ASSERT_TRUE(weft->WaitForExit(kKillTime).has_value());
    EXPECT_THAT(weft->Output(), HasSubstr("worker 0"));
  }
  Complete({"run", "--resume", Path("killed")});
  ExpectEachIterationOnce("killed", 3000);
  EXPECT_TRUE(ReadWholeFile(Path("killed/model.safetensors")) == ReadWholeFile(Path("whole/model.safetensors")));
}

}  // namespace
}  // namespace weft
