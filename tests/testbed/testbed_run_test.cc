// Test-beds as a user meets them: made, run on, disturbed, and removed, also after a kill. Skipped, with the reason,
// where this process may not make them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/testbed.h"
#include "tests/cli/run_weft.h"
#include "tests/integration/running_weft.h"

namespace weft {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr Duration kWholeRun = std::chrono::minutes(2);
constexpr Duration kPoll = std::chrono::milliseconds(5);
constexpr const char* kPrefix = "test-";

// Of a test program that was itself killed: "test-PID-…" whose process is gone.
void RemoveAbandonedTestbeds() {
  for (const std::string& name : TestbedNames()) {
    if (!name.starts_with(kPrefix)) continue;
    pid_t pid = 0;
    const char* digits = name.data() + std::string(kPrefix).size();
    std::from_chars(digits, name.data() + name.size(), pid);
    if (pid > 0 && kill(pid, 0) != 0) {
      EXPECT_TRUE(TakeDownTestbed(name).ok()) << name;
    }
  }
}

class TestbedTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const Status possible = CheckTestbedPossible(); !possible.ok()) GTEST_SKIP() << possible.message();
    RemoveAbandonedTestbeds();
    std::string path = testing::TempDir() + "weft_testbed_XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
  }
  void TearDown() override {
    for (const std::string& name : TestbedNames()) {
      if (name.starts_with(Name(""))) {
        EXPECT_TRUE(TakeDownTestbed(name).ok()) << name;
      }
    }
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  // No other program's.
  std::string Name(const std::string& which) const { return kPrefix + std::to_string(getpid()) + "-" + which; }

  static std::string Weft(const std::string& arguments) {
    const CommandOutcome outcome = RunWeft(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.err;
    return outcome.out;
  }
  Testbed Up(const std::string& which, const std::string& more) const {
    Weft("testbed up " + Name(which) + " " + more);
    Result<Testbed> testbed = LoadTestbed(Name(which));
    EXPECT_TRUE(testbed.ok()) << testbed.status();
    return testbed.ok() ? *testbed : Testbed{};
  }

  // Real images; iterations of some milliseconds of computing.
  std::vector<std::string> Run(const std::string& which, int iterations, const std::string& strategy, int workers,
                               int servers) const {
    std::ofstream(Path("job.yaml")) << R"(apiVersion: weft.dev/v1alpha1
kind: TrainingJob
metadata: {name: small}
spec:
  strategy: {type: )" << strategy << R"(}
  model: {name: mlp, mlp: {hiddenSizes: [64, 32]}}
  data: {format: IDX, path: /usr/share/datasets/fashion-mnist}
  training: {epochs: 100, iterations: )"
                                    << iterations << R"(, batchSizePerWorker: 16, seed: 3}
  worker: {replicas: )" << workers << R"(}
)" << (servers > 0 ? "  server: {replicas: " + std::to_string(servers) + "}\n" : "");
    return {"run", Path("job.yaml"), "--testbed", Name(which), "--out", Path("run")};
  }
  // A run that trains, without an end in sight.
  std::unique_ptr<RunningWeft> Training(const std::string& which) const {
    auto weft = std::make_unique<RunningWeft>(Run(which, 1000000, "InterleavedPS", 2, 1), folder_);
    EXPECT_TRUE(weft->WaitForText(Path("run/metrics.jsonl"), "\"iteration\":3,")) << weft->Output();
    return weft;
  }

  // What a host has sent over its link.
  std::int64_t SentBytes(const std::string& which, int host) const {
    std::istringstream lines(
        Weft("testbed exec " + Name(which) + " " + std::to_string(host) + " -- cat /proc/net/dev"));
    const std::string link = std::string(kTestbedInterface) + ":";
    for (std::string word; lines >> word;) {
      if (word != link) continue;
      std::int64_t received = 0;
      lines >> received;
      for (int field = 1; field < 8; ++field) lines >> word;
      std::int64_t sent = 0;
      lines >> sent;
      return sent;
    }
    ADD_FAILURE() << "host " << host << " has no link";
    return 0;
  }

  void ExpectWholeRun(const std::string& which, const std::string& strategy, int workers, int servers) const {
    constexpr int kIterations = 20;
    // Of the layers 784-64-32-10 with their biases, in fp32.
    constexpr std::int64_t kModelBytes = 4 * (785 * 64 + 65 * 32 + 33 * 10);
    std::vector<std::int64_t> before;
    for (int host = 0; host < 3; ++host) before.push_back(SentBytes(which, host));
    {
      RunningWeft weft(Run(which, kIterations, strategy, workers, servers), folder_);
      const auto exit = weft.WaitForExit(kWholeRun);
      ASSERT_TRUE(exit.has_value()) << weft.Output();
      ASSERT_EQ(exit->ToString(), "ended with exit code 0") << weft.Output();
    }
    const nlohmann::json summary = nlohmann::json::parse(ReadWholeFile(Path("run/summary.json")));
    EXPECT_EQ(summary.at("iterations"), kIterations);
    for (int host = 0; host < 3; ++host) {
      EXPECT_GT(SentBytes(which, host) - before[static_cast<std::size_t>(host)], kModelBytes)
          << strategy << ": host " << host;
    }
    std::filesystem::remove_all(Path("run"));
  }

 private:
  std::string folder_;
};

bool HasNamespaceOf(const std::string& testbed) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/run/netns", error)) {
    if (entry.path().filename().string().starts_with("weft." + testbed + ".")) return true;
  }
  return false;
}

TEST_F(TestbedTest, ThreeShapedHosts_TrainOverTheirLinksWithAServerAndWithout) {
  const Testbed testbed = Up("a", "--hosts 3 --rate 100mbit --host-rate 1=50mbit");
  ASSERT_EQ(testbed.hosts.size(), 3u);
  EXPECT_EQ(testbed.hosts[1].bits_per_second, 50'000'000);
  for (const auto& [host, rate] : {std::pair("0", "rate 100Mbit"), std::pair("1", "rate 50Mbit")}) {
    const std::string queue = Weft("testbed exec " + Name("a") + " " + host + " -- tc qdisc show dev weft0");
    EXPECT_THAT(queue, HasSubstr(rate));
  }
  ExpectWholeRun("a", "InterleavedPS", 2, 1);
  ExpectWholeRun("a", "AllReduce", 3, 0);
}

TEST_F(TestbedTest, TwoSideBySide_DoNotReachEachOther) {
  const Testbed first = Up("a", "--hosts 2");
  const Testbed second = Up("b", "--hosts 2");
  EXPECT_NE(first.subnet, second.subnet);
  EXPECT_THAT(TestbedNames(), Contains(Name("a")));
  EXPECT_THAT(TestbedNames(), Contains(Name("b")));

  const std::string route = "testbed exec " + Name("a") + " 0 -- ip route get ";
  EXPECT_THAT(Weft(route + first.hosts[1].address), HasSubstr(kTestbedInterface));
  EXPECT_THAT(RunWeft(route + second.hosts[1].address).err, HasSubstr("unreachable"));

  Weft("testbed down " + Name("a"));
  EXPECT_THAT(TestbedNames(), Not(Contains(Name("a"))));
  EXPECT_THAT(Weft("testbed show " + Name("b")), HasSubstr(second.hosts[1].address));
}

TEST_F(TestbedTest, UpThatWasKilled_LeavesNothingAfterDown) {
  const std::string name = Name("a");
  RunningWeft up({"testbed", "up", name, "--hosts", "200"}, Path("up"));
  // Under way: the first host is there, the last is not.
  const TimePoint deadline = Clock::Steady().Now() + kWholeRun;
  while (!std::filesystem::exists("/run/netns/weft." + name + ".0") && Clock::Steady().Now() < deadline) {
    Clock::Steady().SleepFor(kPoll);
  }
  up.Signal(SIGKILL);
  ASSERT_TRUE(up.WaitForExit(kWholeRun).has_value());
  ASSERT_TRUE(HasNamespaceOf(name));
  ASSERT_FALSE(std::filesystem::exists("/run/netns/weft." + name + ".199"));

  Weft("testbed down " + name);
  EXPECT_FALSE(HasNamespaceOf(name));
  EXPECT_FALSE(std::filesystem::exists(TestbedPath(name)));
}

TEST_F(TestbedTest, RunThatWasKilled_LeavesNothingAfterDown) {
  Up("a", "--hosts 3");
  const auto weft = Training("a");
  const std::vector<RunProcess> processes = weft->Processes();
  ASSERT_TRUE(Find(processes, "weft-agent", "2").has_value());
  weft->Signal(SIGKILL);
  ASSERT_TRUE(weft->WaitForExit(kWholeRun).has_value());

  Weft("testbed down " + Name("a"));
  EXPECT_TRUE(AllGone(processes, kWholeRun));
  EXPECT_FALSE(HasNamespaceOf(Name("a")));
  EXPECT_FALSE(std::filesystem::exists(TestbedPath(Name("a"))));
}

TEST_F(TestbedTest, RateChangedAndHostCutInMidRun_TheRunGoesOnAndThenNamesTheHost) {
  const Testbed testbed = Up("a", "--hosts 3");
  const auto weft = Training("a");
  Weft("testbed rate " + Name("a") + " 0 200mbit");
  EXPECT_THAT(Weft("testbed show " + Name("a")), HasSubstr("200mbit"));
  const std::string queue = Weft("testbed exec " + Name("a") + " 0 -- tc qdisc show dev weft0");
  EXPECT_THAT(queue, HasSubstr("rate 200Mbit"));
  EXPECT_FALSE(weft->WaitForExit(std::chrono::seconds(1)).has_value()) << weft->Output();

  Weft("testbed cut " + Name("a") + " 1");
  EXPECT_THAT(Weft("testbed show " + Name("a")), HasSubstr("cut off"));
  const auto exit = weft->WaitForExit(kWholeRun);
  ASSERT_TRUE(exit.has_value()) << weft->Output();
  EXPECT_EQ(exit->ToString(), "ended with exit code 1");
  EXPECT_THAT(weft->Output(),
              HasSubstr("host 1 (" + testbed.hosts[1].address + ") can't be reached any more: worker 1"));
  Weft("testbed heal " + Name("a") + " 1");
  EXPECT_THAT(Weft("testbed show " + Name("a")), Not(HasSubstr("cut off")));
}

}  // namespace
}  // namespace weft
