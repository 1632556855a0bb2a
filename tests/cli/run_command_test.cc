// What `weft run` refuses: in one line, with its exit code, and without harm to what is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/cli/run_weft.h"

namespace weft {
namespace {

using testing::HasSubstr;

class RunCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "weft_run_command_XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
    std::ofstream(Path("job.yaml")) << R"(apiVersion: weft.dev/v1alpha1
kind: TrainingJob
metadata: {name: small}
spec:
  strategy: {type: InterleavedPS}
  model: {name: mlp, mlp: {hiddenSizes: [16]}}
  data: {format: IDX, path: /usr/share/datasets/fashion-mnist}
  training: {epochs: 1}
)";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  void ExpectRefused(const std::string& arguments, int exit_code, const std::string& what,
                     const std::string& before = "") {
    const CommandOutcome outcome = RunWeft("run " + arguments, before);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(what));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }

  std::string folder_;
};

TEST_F(RunCommandTest, NoFile_IsBadInput) { ExpectRefused("", 2, "FILE is missing"); }

TEST_F(RunCommandTest, ResumeWithChanges_IsBadInput) {
  ExpectRefused("--resume " + folder_ + " --set training.seed=2", 2, "no --set");
}

TEST_F(RunCommandTest, ResumeOfNoRun_IsBadInputByName) { ExpectRefused("--resume " + Path("none"), 2, Path("none")); }

TEST_F(RunCommandTest, ResumeWithoutACheckpoint_IsBadInput) {
  std::filesystem::create_directory(Path("checkpoints"));
  ExpectRefused("--resume " + folder_, 2, "no checkpoint");
}

TEST_F(RunCommandTest, ResumeOfAFinishedRun_SaysThatItHasFinished) {
  std::ofstream(Path("summary.json")) << R"({"exit_code": 0})";
  ExpectRefused("--resume " + folder_, 2, folder_ + ": this run has finished");
}

TEST_F(RunCommandTest, GraphThatCannotBeMade_IsRefusedWithItsRule) {
  ExpectRefused(Path("job.yaml") +
                    " --set strategy.type=Swarm --set strategy.swarm.topology.type=Hypercube"
                    " --set worker.replicas=3 --out " +
                    Path("run"),
                2, "power of two");
  EXPECT_FALSE(std::filesystem::exists(Path("run")));
}

TEST_F(RunCommandTest, GraphOnWhichPushSumUnderflows_IsRefusedWithItsRule) {
  std::string edges;
  for (int leaf = 1; leaf <= 130; ++leaf) edges += (edges.empty() ? "[0," : ",[0,") + std::to_string(leaf) + "]";
  ExpectRefused(Path("job.yaml") +
                    " --set strategy.type=SGP --set strategy.decentralized.topology.type=EdgeList"
                    " --set worker.replicas=131 --set 'strategy.decentralized.topology.edges=[" +
                    edges + "]' --out " + Path("run"),
                2, "below 2^-96");
}

TEST_F(RunCommandTest, LimitsThatAreTooLow_AreNamed) {
  const std::string run = Path("job.yaml") + " --set worker.replicas=4 --out " + Path("run");
  ExpectRefused(run + "1", 1, "open files are limited to 40 (ulimit -n); 5 ranks need 64", "ulimit -n 40; ");
  ExpectRefused(run + "2", 1, "bytes (ulimit -f); the ranks' shared memory needs", "ulimit -f 100; ");
}

TEST_F(RunCommandTest, OutThatHoldsARun_IsRefusedAndUntouched) {
  std::filesystem::create_directory(Path("run"));
  std::ofstream(Path("run/job.yaml")) << "an earlier run's";
  ExpectRefused(Path("job.yaml") + " --out " + Path("run"), 2, Path("run"));
  std::string text;
  std::getline(std::ifstream(Path("run/job.yaml")), text);
  EXPECT_EQ(text, "an earlier run's");
}

TEST_F(RunCommandTest, OutThatCannotBeMade_IsNamed) {
  const CommandOutcome outcome = RunWeft("run " + Path("job.yaml") + " --out /proc/weft/run");
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("/proc/weft"));
}

TEST_F(RunCommandTest, PlanThatIsNone_IsBadInputByName) {
  std::ofstream(Path("plan.json")) << "{";
  ExpectRefused(Path("job.yaml") + " --plan " + Path("plan.json") + " --out " + Path("run"), 2, Path("plan.json"));
  EXPECT_FALSE(std::filesystem::exists(Path("run")));
}

TEST_F(RunCommandTest, DataThatIsMissing_IsBadInputByName) {
  ExpectRefused(Path("job.yaml") + " --set data.path=" + Path("no-data") + " --out " + Path("run"), 2, Path("no-data"));
  EXPECT_FALSE(std::filesystem::exists(Path("run")));  // so that the same command with the right path is taken
}

TEST_F(RunCommandTest, RelativePathThatIsMissing_SaysToWhichFolder) {
  const std::string run = Path("job.yaml") + " --out " + Path("run");
  const std::string here = "(relative to " + std::filesystem::canonical(folder_).string() + ", where weft runs)";
  ExpectRefused(run + " --set data.path=no-data", 2, "data.path: open no-data: No such file", "cd " + folder_ + "; ");
  ExpectRefused(run + " --set data.path=no-data", 2, here, "cd " + folder_ + "; ");
  ExpectRefused(run + " --set model.initialWeights=none.safetensors", 2, "model.initialWeights: open none.safetensors",
                "cd " + folder_ + "; ");
  EXPECT_FALSE(std::filesystem::exists(Path("run")));
}

TEST_F(RunCommandTest, MetricsPortInUse_IsNamed) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  ExpectRefused(Path("job.yaml") + " --metrics-port " + port + " --out " + Path("run"), 1, port);
  // As worker 0's: the rank is told.
  const std::string base = std::to_string(ntohs(address.sin_port) - 1);
  ExpectRefused(Path("job.yaml") + " --metrics-port " + base + " --out " + Path("run-of-ranks"), 1, port);
  close(listener);
}

TEST_F(RunCommandTest, PrometheusTargetsWhereNoFolderCanBe_IsNamedAndNothingIsMade) {
  std::ofstream(Path("file")) << "";
  const std::string folder = Path("file") + "/targets";
  ExpectRefused(Path("job.yaml") + " --prometheus-targets " + folder + " --out " + Path("run"), 1, folder);
  EXPECT_FALSE(std::filesystem::exists(Path("run")));
}

}  // namespace
}  // namespace weft
