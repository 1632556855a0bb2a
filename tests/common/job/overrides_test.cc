#include "common/job/overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/job/parse.h"

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

TEST(OverridesTest, Null_TakesAFieldOutAndIsNothingWhereThereIsNone) {
  const std::vector<std::string> overrides = {"strategy=~", "training.schedule.type=null"};
  const ParsedJob job = ParseJob(kJob, overrides);
  EXPECT_THAT(job.errors, IsEmpty());
  EXPECT_EQ(job.spec.strategy.type, StrategyType::kAuto);
}

}  // namespace
}  // namespace weft
