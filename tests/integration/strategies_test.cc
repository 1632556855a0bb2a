// Every strategy on each kind of model with 1, 2, 3 and 8 workers, over the loopback; and from one example file, over
// MPI. What each strategy computes is tested beside its data plane; here, that a whole run holds together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/job/parse.h"
#include "common/plan/json.h"
#include "common/plan/names.h"
#include "tests/integration/running_weft.h"
#include "tests/integration/thread_run.h"

namespace weft {
namespace {

using testing::HasSubstr;

constexpr int kIterations = 12;

struct Case {
  StrategyType strategy = StrategyType::kAllReduce;
  std::string model;
  int workers = 1;
};

std::string NameOf(const Case& c) {
  return std::string(Name(c.strategy)) + "_" + c.model + "_" + std::to_string(c.workers);
}

bool IsGossip(const Case& c) {
  return c.strategy == StrategyType::kDPSGD || c.strategy == StrategyType::kADPSGD || c.strategy == StrategyType::kSGP;
}

std::string ModelAndData(const std::string& model, const std::string& folder) {
  if (model == "mlp") return "  model: {name: mlp, mlp: {hiddenSizes: [16]}}\n  data: {path: " + folder + "/images}\n";
  if (model == "lenet") return "  model: {name: lenet}\n  data: {path: " + folder + "/images}\n";
  return "  model: {name: transformer, transformer: {layers: 1, width: 16, heads: 2, context: 16}}\n"
         "  data: {path: " +
         folder + "/text}\n";
}

std::string JobFor(const Case& c, const std::string& folder, int iterations = kIterations,
                   const std::string& learning_rate = "0.05") {
  std::string strategy = std::string("{type: ") + Name(c.strategy);
  // A ring of one is refused.
  if (IsGossip(c) && c.workers == 1) strategy += ", decentralized: {topology: {type: Complete}}";
  return "apiVersion: weft.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: matrix}\nspec:\n  strategy: " + strategy +
         "}\n" + ModelAndData(c.model, folder) + "  training: {epochs: 100, iterations: " + std::to_string(iterations) +
         ", batchSizePerWorker: 4, seed: 5, optimizer: {learningRate: " + learning_rate +
         "}}\n  worker: {replicas: " + std::to_string(c.workers) + "}\n";
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (int type = static_cast<int>(StrategyType::kInterleavedPS); type <= static_cast<int>(StrategyType::kSGP);
       ++type) {
    for (const char* model : {"mlp", "lenet", "transformer"}) {
      for (const int workers : {1, 2, 3, 8}) cases.push_back({static_cast<StrategyType>(type), model, workers});
    }
  }
  return cases;
}

// Starting processes costs seconds, so that not every model is run with every number of them.
std::vector<Case> MpiCases() {
  std::vector<Case> cases = AllCases();
  std::erase_if(cases, [](const Case& c) { return c.model != "mlp" && c.workers != 2; });
  return cases;
}

// The same for the example file.
std::vector<std::string> SettingsFor(const Case& c, const std::string& folder) {
  std::vector<std::string> sets = {"model.name=" + c.model,
                                   "data.path=" + folder + (c.model == "transformer" ? "/text" : "/images")};
  if (c.model == "mlp") sets.emplace_back("model.mlp.hiddenSizes=[16]");
  if (c.model == "transformer") {
    sets.insert(sets.end(), {"data.format=Text", "model.transformer.layers=1", "model.transformer.width=16",
                             "model.transformer.heads=2", "model.transformer.context=16"});
  }
  if (IsGossip(c) && c.workers == 1) sets.emplace_back("strategy.decentralized.topology.type=Complete");
  return sets;
}

class StrategyMatrixTest : public testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() {
    std::string path = testing::TempDir() + "weft_matrix_XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
    WriteSmallImages(folder_ + "/images", 160, 40);
    WriteSmallText(folder_ + "/text", 4000);
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder_); }

  static std::string folder_;
};
std::string StrategyMatrixTest::folder_;

TEST_P(StrategyMatrixTest, Run_TrainsEvaluatesAndSaves) {
  const Case& c = GetParam();
  const std::string directory = folder_ + "/" + NameOf(c);
  const ThreadRunOutcome outcome = RunInThreads(JobFor(c, folder_), directory);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.message;
  const nlohmann::json& summary = outcome.summary;
  EXPECT_EQ(summary["strategy"], Name(c.strategy));
  EXPECT_EQ(summary["iterations"], kIterations);
  EXPECT_EQ(summary["workers"], c.workers);
  ASSERT_TRUE(summary["loss"].is_number());
  EXPECT_LT(summary["loss"], 7);  // ln 256 is 5.5
  EXPECT_TRUE(std::filesystem::exists(directory + "/model.safetensors"));

  std::int64_t sent = 0;
  for (const nlohmann::json& bytes : summary["sent_bytes"]) sent += bytes.get<std::int64_t>();
  // What leaves behind the last iteration is in no report: a long period's, or an averaging that is still under way.
  const bool waits = c.strategy != StrategyType::kInterleavedPS && c.strategy != StrategyType::kSwarm &&
                     c.strategy != StrategyType::kADPSGD;
  if (c.workers == 1) {
    EXPECT_EQ(sent, 0);
  } else if (waits) {
    EXPECT_GT(sent, 0);
  }
  const bool own_models = c.workers > 1 && !UsesParameterServers(c.strategy) && c.strategy != StrategyType::kAllReduce;
  EXPECT_EQ(summary["worst_accuracy"].is_number(), own_models);
}

// Rates at which the first steps overflow: whatever the strategy makes of weights that are not finite, the run fails,
// names the first worker, and leaves no model.
class DivergenceTest : public StrategyMatrixTest {};

TEST_P(DivergenceTest, RateIsFarTooHigh_FailsAndSavesNothing) {
  const Case& c = GetParam();
  // Ends with the streak of losses, or before it with the last evaluation.
  for (const int iterations : {4, 60}) {
    // Goes on with its last published model for so long.
    if (c.strategy == StrategyType::kSwarm && iterations == 4) continue;
    const std::string directory = folder_ + "/diverged_" + NameOf(c) + std::to_string(iterations);
    const ThreadRunOutcome outcome = RunInThreads(JobFor(c, folder_, iterations, "1e20"), directory);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.message, HasSubstr("the run has diverged: "));
    EXPECT_THAT(outcome.message, HasSubstr("learningRate below 1e+20"));
    EXPECT_EQ(outcome.summary["diverged"], true);
    EXPECT_EQ(outcome.summary["model_path"], "");
    EXPECT_FALSE(std::filesystem::exists(directory + "/model.safetensors"));
  }
}

// One example file, nine strategies: `--set strategy.type` drops what is another one's.
class ExampleOverMpiTest : public StrategyMatrixTest {};

TEST_P(ExampleOverMpiTest, Run_TrainsEvaluatesAndSaves) {
  const Case& c = GetParam();
  const std::string home = folder_ + "/mpi_" + NameOf(c);
  std::filesystem::create_directory(home);
  const ParsedJob job = ParseJob(JobFor(c, folder_));
  ASSERT_TRUE(job.ok()) << ToStatus(job.errors);
  std::ofstream(home + "/plan.json") << PlanToJson(InventedPlan(job.spec));
  std::vector<std::string> arguments = {"run",    "examples/fashion-mnist-swarm.yaml",
                                        "--out",  home + "/run",
                                        "--plan", home + "/plan.json",
                                        "--set",  std::string("strategy.type=") + Name(c.strategy),
                                        "--set",  "worker.replicas=" + std::to_string(c.workers),
                                        "--set",  "training.batchSizePerWorker=4",
                                        "--set",  "training.iterations=" + std::to_string(kIterations)};
  for (const std::string& set : SettingsFor(c, folder_)) arguments.insert(arguments.end(), {"--set", set});
  RunningWeft weft(arguments, home);
  const auto exit = weft.WaitForExit(std::chrono::minutes(2));
  ASSERT_TRUE(exit.has_value());
  ASSERT_EQ(exit->ToString(), "ended with exit code 0") << weft.Output();
  if (c.strategy != StrategyType::kSwarm) {
    EXPECT_THAT(weft.Output(), HasSubstr("dropped strategy.swarm"));
  }
  const nlohmann::json summary = nlohmann::json::parse(ReadWholeFile(home + "/run/summary.json"));
  EXPECT_EQ(summary["strategy"], Name(c.strategy));
  EXPECT_EQ(summary["iterations"], kIterations);
  EXPECT_LT(summary["loss"], 7);
  EXPECT_TRUE(std::filesystem::exists(home + "/run/model.safetensors"));
  if (c.workers > 1) {
    EXPECT_THAT(summary["transport"], HasSubstr("shared memory"));
  }
}

INSTANTIATE_TEST_SUITE_P(Mpi, ExampleOverMpiTest, testing::ValuesIn(MpiCases()),
                         [](const testing::TestParamInfo<Case>& one) { return NameOf(one.param); });

std::vector<Case> DivergenceCases() {
  std::vector<Case> cases = AllCases();
  std::erase_if(cases, [](const Case& c) {
    return c.model != "mlp" || (c.workers != 3 && c.strategy != StrategyType::kAllReduce);
  });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Loopback, DivergenceTest, testing::ValuesIn(DivergenceCases()),
                         [](const testing::TestParamInfo<Case>& one) { return NameOf(one.param); });

INSTANTIATE_TEST_SUITE_P(Loopback, StrategyMatrixTest, testing::ValuesIn(AllCases()),
                         [](const testing::TestParamInfo<Case>& one) { return NameOf(one.param); });

}  // namespace
}  // namespace weft
