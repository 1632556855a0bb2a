#include "common/job/overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "common/job/fields.h"
#include "common/job/parse.h"
#include "common/plan/names.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kJob[] = R"(# a comment
apiVersion: weft.dev/v1alpha1
kind: TrainingJob
metadata: {name: job}
spec:
  strategy: {type: InterleavedPS, parameterServer: {period: 3}}
  model: {name: lenet}
  data: {path: /data}
  worker: {replicas: 4}
)";

std::vector<std::string> Errors(const std::vector<std::string>& overrides) {
  std::vector<std::string> messages;
  for (const JobError& error : ParseJob(kJob, overrides).errors) messages.push_back(error.message);
  return messages;
}

TEST(OverridesTest, None_LeavesTheTextAsItIs) { EXPECT_EQ(ParseJob(kJob).text, kJob); }

TEST(OverridesTest, Path_IsTakenWithAndWithoutSpec) {
  const std::vector<std::string> overrides = {"worker.replicas=2", "spec.training.epochs=3", "metadata.name=other"};
  const ParsedJob job = ParseJob(kJob, overrides);
  ASSERT_THAT(job.errors, IsEmpty());
  EXPECT_EQ(job.spec.worker.replicas, 2);
  EXPECT_EQ(job.spec.training.epochs, 3);
  EXPECT_EQ(job.spec.name, "other");
}

TEST(OverridesTest, Text_IsTheJobAsRun) {
  const std::vector<std::string> overrides = {"strategy.type=merged-ps", "model={name: mlp, mlp: {hiddenSizes: [8]}}",
                                              "strategy.parameterServer=null", "output.path="};
  const ParsedJob job = ParseJob(kJob, {overrides.data(), 3});
  ASSERT_THAT(job.errors, IsEmpty());
  EXPECT_THAT(job.text, HasSubstr("type: MergedPS"));
  EXPECT_THAT(job.text, Not(HasSubstr("parameterServer")));
  const ParsedJob again = ParseJob(job.text);
  ASSERT_THAT(again.errors, IsEmpty());
  EXPECT_EQ(again.spec.strategy.type, StrategyType::kMergedPS);
  EXPECT_EQ(again.spec.strategy.parameter_server.period, 0);
  EXPECT_EQ(again.spec.model.name, ModelType::kMlp);
  EXPECT_THAT(again.spec.model.hidden_sizes, ElementsAre(8));

  EXPECT_THAT(Errors({overrides[3]}), ElementsAre("output.path: is empty"));
}

TEST(OverridesTest, LaterOne_Wins) {
  const std::vector<std::string> overrides = {"worker.replicas=2", "worker.replicas=3"};
  EXPECT_EQ(ParseJob(kJob, overrides).spec.worker.replicas, 3);
}

TEST(OverridesTest, Enums_AreTakenInAnyCaseAndWithHyphens) {
  for (const char* name : {"interleaved-ps", "INTERLEAVEDPS", "Interleaved_PS", "InterleavedPS"}) {
    const std::vector<std::string> overrides = {std::string("strategy.type=") + name};
    const ParsedJob job = ParseJob(kJob, overrides);
    EXPECT_THAT(job.errors, IsEmpty()) << name;
    EXPECT_THAT(job.text, HasSubstr("type: InterleavedPS")) << name;
  }
  std::string text = kJob;
  text.replace(text.find("InterleavedPS"), 13, "interleavedps");
  EXPECT_THAT(ParseJob(text).errors,
              ElementsAre(JobError{6,
                                   "strategy.type: interleavedps is not one of Auto, InterleavedPS, MergedPS, "
                                   "BulkSynchronousPS, Swarm, AllReduce, LocalSGD, DPSGD, ADPSGD, SGP; did you mean "
                                   "InterleavedPS?"}));
}

TEST(OverridesTest, BadOverrides_AreNamed) {
  EXPECT_THAT(Errors({"worker.replicas"}), ElementsAre("--set worker.replicas is not path=value"));
  EXPECT_THAT(Errors({"worker..replicas=1"}), ElementsAre("--set worker..replicas is not a path"));
  EXPECT_THAT(Errors({"=1"}), ElementsAre("--set =1 is not path=value"));
  EXPECT_THAT(Errors({"worker.replicas.x=1"}),
              ElementsAre("--set worker.replicas.x: spec.worker.replicas is not a map"));
  EXPECT_THAT(Errors({"worker.replicas=[1"}), ElementsAre(HasSubstr("--set worker.replicas: [1 is not YAML: ")));
  EXPECT_THAT(Errors({"worker.replica=1"}),
              ElementsAre("unknown field `worker.replica`; did you mean `worker.replicas`?"));
  EXPECT_THAT(Errors({"worker.replicas=no"}), ElementsAre("worker.replicas: no is not a whole number"));
}

// Jobs of each family, with settings of it that are not the defaults.
std::vector<std::string> JobsOfAllFamilies() {
  const std::string head = "apiVersion: weft.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: job}\nspec:\n";
  const std::string tail = "  model: {name: lenet}\n  data: {path: /data}\n  worker: {replicas: 8}\n";
  std::vector<std::string> jobs;
  for (const char* strategy :
       {"{type: Auto, maxStaleness: 4, parameterServer: {period: 2}}\n  server: {replicas: 2}",
        "{type: MergedPS, parameterServer: {period: 2, centerRate: 0.5}}\n  server: {replicas: 2}",
        "{type: Swarm, swarm: {topology: {type: Hypercube}, localSteps: 2, slowMomentum: 0.5}}\n  server: {replicas: "
        "0}",
        "{type: AllReduce}", "{type: LocalSGD, localSGD: {localSteps: 2, slowRate: 0.5}}",
        "{type: DPSGD, decentralized: {topology: {type: Torus}, order: AdaptThenCombine, slowPeriod: 3}}",
        "{type: SGP, decentralized: {topology: {type: Complete}, overlap: 2, slowMomentum: 0.5}}"}) {
    jobs.push_back(head + "  strategy: " + strategy + "\n" + tail);
  }
  jobs[5].replace(jobs[5].find("replicas: 8"), 11, "replicas: 9");
  return jobs;
}

std::vector<std::string> ExampleJobs() {
  std::vector<std::string> jobs;
  for (const auto& entry : std::filesystem::directory_iterator("examples")) {
    if (entry.path().extension() != ".yaml") continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    jobs.push_back(text.str());
  }
  return jobs;
}

TEST(OverridesTest, StrategyType_AnyOntoAnyJob_IsValidAndComesBackFromItsText) {
  std::vector<std::string> jobs = ExampleJobs();
  ASSERT_GE(jobs.size(), 3U);
  for (const std::string& job : JobsOfAllFamilies()) jobs.push_back(job);
  for (const std::string& text : jobs) {
    ASSERT_EQ(ToStatus(ParseJob(text).errors), OkStatus()) << text;
    for (const std::string& type : FindField("spec.strategy.type")->choices) {
      const std::vector<std::string> overrides = {"strategy.type=" + type};
      const ParsedJob job = ParseJob(text, overrides);
      EXPECT_EQ(ToStatus(job.errors), OkStatus()) << type << "\n" << text;
      EXPECT_EQ(Name(job.spec.strategy.type), type);
      const ParsedJob again = ParseJob(job.text);
      EXPECT_EQ(ToStatus(again.errors), OkStatus()) << job.text;
      EXPECT_EQ(Name(again.spec.strategy.type), type);
      EXPECT_EQ(again.spec.server.replicas, job.spec.server.replicas);
      EXPECT_THAT(again.notes, IsEmpty());
      // What was already chosen drops nothing.
      EXPECT_THAT(ParseJob(job.text, overrides).notes, IsEmpty());
    }
  }
}

std::vector<std::string> Notes(const std::string& text, const std::vector<std::string>& overrides) {
  return ParseJob(text, overrides).notes;
}

TEST(OverridesTest, StrategyType_OfAnotherFamily_DropsTheOldOnesSettings) {
  std::string text = kJob;
  text += "  server: {replicas: 2}\n";
  EXPECT_THAT(Notes(text, {"strategy.type=swarm"}),
              ElementsAre("strategy.type=Swarm: dropped strategy.parameterServer, server"));
  EXPECT_THAT(Notes(text, {"strategy={type: LocalSGD}"}), ElementsAre("strategy.type=LocalSGD: dropped server"));

  const std::vector<std::string> jobs = JobsOfAllFamilies();
  EXPECT_THAT(Notes(jobs[0], {"strategy.type=AllReduce"}),
              ElementsAre("strategy.type=AllReduce: dropped strategy.maxStaleness, strategy.parameterServer, server"));
  EXPECT_THAT(Notes(jobs[2], {"strategy.type=MergedPS"}),
              ElementsAre("strategy.type=MergedPS: dropped strategy.swarm, server.replicas"));
  EXPECT_THAT(Notes(jobs[5], {"strategy.type=ADPSGD"}),
              ElementsAre("strategy.type=ADPSGD: dropped strategy.decentralized.order, "
                          "strategy.decentralized.slowPeriod"));
}

TEST(OverridesTest, StrategyType_OfTheSameFamily_DropsNothing) {
  EXPECT_THAT(Notes(kJob, {"strategy.type=MergedPS"}), IsEmpty());
  EXPECT_THAT(Notes(kJob, {"strategy.type=Auto"}), IsEmpty());
  const std::vector<std::string> overrides = {"strategy.type=MergedPS"};
  EXPECT_EQ(ParseJob(kJob, overrides).spec.strategy.parameter_server.period, 3);
  const std::vector<std::string> other = {"worker.replicas=2"};
  EXPECT_THAT(Notes(kJob, other), IsEmpty());
}

TEST(OverridesTest, OptimizerType_OfAnotherRule_DropsTheOldOnesSettings) {
  std::string text = kJob;
  text += "  server: {replicas: 2}\n";
  const std::vector<std::string> to_momentum = {"training.optimizer={type: SGD, momentum: 0.9}"};
  const std::string sgd = ParseJob(text, to_momentum).text;
  ASSERT_EQ(ToStatus(ParseJob(sgd).errors), OkStatus()) << sgd;
  EXPECT_THAT(Notes(sgd, {"training.optimizer.type=adamw"}),
              ElementsAre("training.optimizer.type=AdamW: dropped training.optimizer.momentum"));
  EXPECT_THAT(Notes(sgd, {"training.optimizer.type=SGD"}), IsEmpty());
  // With both, each says what it dropped.
  EXPECT_THAT(Notes(sgd, {"training.optimizer.type=AdamW", "strategy.type=AllReduce"}),
              ElementsAre("strategy.type=AllReduce: dropped strategy.parameterServer, server",
                          "training.optimizer.type=AdamW: dropped training.optimizer.momentum"));
  const std::vector<std::string> meant = {"training.optimizer.type=AdamW", "training.optimizer.momentum=0.5"};
  EXPECT_FALSE(ParseJob(sgd, meant).ok());
}

TEST(OverridesTest, OptimizerType_OntoEveryExample_IsValid) {
  for (const std::string& text : ExampleJobs()) {
    for (const std::string& type : FindField("spec.training.optimizer.type")->choices) {
      const std::vector<std::string> overrides = {"training.optimizer.type=" + type};
      EXPECT_EQ(ToStatus(ParseJob(text, overrides).errors), OkStatus()) << type << "\n" << text;
    }
  }
}

// Who names a setting on the command line means it: it is refused, not dropped.
TEST(OverridesTest, StrategyType_WithSettingsFromOverrides_KeepsThoseInAnyOrder) {
  EXPECT_THAT(Errors({"strategy.type=Swarm", "strategy.parameterServer=null", "server.replicas=1"}),
              ElementsAre("server.replicas: 1 is above 0, but strategy Swarm has no servers"));
  EXPECT_THAT(Errors({"strategy.parameterServer.period=4", "strategy.type=Swarm"}),
              ElementsAre("strategy.parameterServer: is only for strategy.type Auto, InterleavedPS, MergedPS, "
                          "BulkSynchronousPS, not Swarm"));
  const std::vector<std::string> overrides = {"strategy.swarm.localSteps=2", "strategy.type=Swarm"};
  const ParsedJob job = ParseJob(kJob, overrides);
  EXPECT_THAT(job.errors, IsEmpty());
  EXPECT_EQ(job.spec.strategy.swarm.local_steps, 2);
  EXPECT_THAT(job.notes, ElementsAre("strategy.type=Swarm: dropped strategy.parameterServer"));
}

TEST(OverridesTest, StrategyType_ThatIsNone_DropsNothing) {
  EXPECT_THAT(Notes(kJob, {"strategy.type=Swarms"}), IsEmpty());
  EXPECT_THAT(Notes(kJob, {"strategy.type=[Swarm]"}), IsEmpty());
}

TEST(OverridesTest, Null_TakesAFieldOutAndIsNothingWhereThereIsNone) {
  const std::vector<std::string> overrides = {"strategy=~", "training.schedule.type=null"};
  const ParsedJob job = ParseJob(kJob, overrides);
  EXPECT_THAT(job.errors, IsEmpty());
  EXPECT_EQ(job.spec.strategy.type, StrategyType::kAuto);
}

}  // namespace
}  // namespace weft
