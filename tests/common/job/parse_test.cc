#include "common/job/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "common/job/yaml_tree.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A job with `spec` lines indented by two; model and data are there unless the lines bring their own.
std::string Job(const std::string& spec) {
  std::string text = "apiVersion: weft.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: job}\nspec:\n";
  if (spec.find("model:") == std::string::npos) text += "  model: {name: lenet}\n";
  if (spec.find("data:") == std::string::npos) text += "  data: {path: /data}\n";
  return text + spec;
}

std::vector<std::string> Errors(const std::string& text) {
  std::vector<std::string> messages;
  for (const JobError& error : ParseJob(text).errors) messages.push_back(error.message);
  return messages;
}

TEST(ParseJobTest, LeastJob_HasTheDefaults) {
  const ParsedJob job = ParseJob(Job(""));
  ASSERT_THAT(job.errors, IsEmpty());
  EXPECT_EQ(job.spec.name, "job");
  EXPECT_EQ(job.spec.strategy.type, StrategyType::kAuto);
  EXPECT_EQ(job.spec.strategy.parameter_server.period, 0);
  EXPECT_EQ(job.spec.model.name, ModelType::kLenet);
  EXPECT_EQ(job.spec.data.format, DataFormat::kIDX);
  EXPECT_EQ(job.spec.data.path, "/data");
  EXPECT_EQ(job.spec.worker.replicas, 1);
  EXPECT_EQ(job.spec.worker.max_replicas, 1);
  EXPECT_EQ(job.spec.server.replicas, 1);
  EXPECT_EQ(job.spec.training.epochs, 10);
  EXPECT_THAT(job.spec.unused_here, IsEmpty());
}

TEST(ParseJobTest, DependentDefaults_FollowTheFieldTheyHangOn) {
  const ParsedJob swarm = ParseJob(Job("  strategy: {type: Swarm}\n  worker: {replicas: 6}\n"));
  ASSERT_THAT(swarm.errors, IsEmpty());
  EXPECT_EQ(swarm.spec.server.replicas, 0);
  EXPECT_EQ(swarm.spec.worker.min_replicas, 6);
  EXPECT_EQ(swarm.spec.worker.max_replicas, 6);

  const ParsedJob text = ParseJob(Job("  model: {name: transformer}\n"));
  ASSERT_THAT(text.errors, IsEmpty());
  EXPECT_EQ(text.spec.data.format, DataFormat::kText);
}

TEST(ParseJobTest, EveryKindOfField_ReachesTheSpec) {
  const ParsedJob job = ParseJob(Job(R"(
  strategy:
    type: InterleavedPS
    parameterServer: {period: 4, fusion: MGWFBP, phase: Formula, window: AfterBackward, tail: Half, apply: Late,
                      admission: false, centerRate: 0.8, elasticRate: 0.1}
  model: {name: mlp, mlp: {hiddenSizes: [32, 16]}}
  training:
    iterations: 5000000000
    seed: 9223372036854775807
    optimizer: {learningRate: 1e-3}
    schedule: {type: Step, stepEpochs: [2, 4.5], stepFactor: .5}
    targetAccuracy: 0.89
  worker: {replicas: 4, minReplicas: 2, maxReplicas: 8}
  server: {replicas: 2}
)"));
  ASSERT_THAT(job.errors, IsEmpty());
  const ParameterServerSpec& ps = job.spec.strategy.parameter_server;
  EXPECT_EQ(ps.period, 4);
  EXPECT_EQ(ps.fusion, Fusion::kMGWFBP);
  EXPECT_EQ(ps.phase, PhaseRule::kFormula);
  EXPECT_EQ(ps.window, WindowRule::kAfterBackward);
  EXPECT_EQ(ps.tail, Tail::kHalf);
  EXPECT_EQ(ps.apply, Apply::kLate);
  EXPECT_FALSE(ps.admission);
  EXPECT_EQ(ps.center_rate, 0.8);
  EXPECT_EQ(ps.elastic_rate, 0.1);
  EXPECT_THAT(job.spec.model.hidden_sizes, ElementsAre(32, 16));
  EXPECT_EQ(job.spec.training.iterations, 5'000'000'000);
  EXPECT_EQ(job.spec.training.seed, 9223372036854775807U);
  EXPECT_EQ(job.spec.training.optimizer.learning_rate, 1e-3);
  EXPECT_EQ(job.spec.training.schedule.type, ScheduleType::kStep);
  EXPECT_THAT(job.spec.training.schedule.step_epochs, ElementsAre(2, 4.5));
  EXPECT_EQ(job.spec.training.schedule.step_factor, 0.5);
  EXPECT_EQ(job.spec.training.target_accuracy, 0.89);
  EXPECT_EQ(job.spec.worker.min_replicas, 2);
  EXPECT_EQ(job.spec.worker.max_replicas, 8);
  EXPECT_EQ(job.spec.server.replicas, 2);
}

// The enums' order in the table is their order in the code.
TEST(ParseJobTest, StrategyTypes_AllMapToTheirEnumerators) {
  const std::vector<std::pair<std::string, StrategyType>> types = {
      {"Auto", StrategyType::kAuto},         {"InterleavedPS", StrategyType::kInterleavedPS},
      {"MergedPS", StrategyType::kMergedPS}, {"BulkSynchronousPS", StrategyType::kBulkSynchronousPS},
      {"Swarm", StrategyType::kSwarm},       {"AllReduce", StrategyType::kAllReduce},
      {"LocalSGD", StrategyType::kLocalSGD}, {"DPSGD", StrategyType::kDPSGD},
      {"ADPSGD", StrategyType::kADPSGD},     {"SGP", StrategyType::kSGP},
  };
  for (const auto& [name, type] : types) {
    const ParsedJob job = ParseJob(Job("  strategy: {type: " + name + "}\n  worker: {replicas: 4}\n"));
    EXPECT_THAT(job.errors, IsEmpty()) << name;
    EXPECT_EQ(job.spec.strategy.type, type) << name;
  }
}

TEST(ParseJobTest, PeerStrategies_EveryFieldReachesTheSpec) {
  const ParsedJob swarm = ParseJob(Job(R"(
  strategy:
    type: Swarm
    swarm: {topology: {type: EdgeList, edges: [[0, 1], [1, 2]]}, localSteps: 3, localStepsDistribution: Geometric,
            quantization: {bits: 4, rotation: true}, slowMomentum: 0.5, slowRate: 0.7}
  network: {exchangeTimeoutSeconds: 0.25}
  worker: {replicas: 3}
)"));
  ASSERT_THAT(swarm.errors, IsEmpty());
  EXPECT_EQ(swarm.spec.strategy.swarm.topology.edges, (std::vector<std::pair<int, int>>{{0, 1}, {1, 2}}));
  EXPECT_EQ(swarm.spec.strategy.swarm.local_steps, 3);
  EXPECT_EQ(swarm.spec.strategy.swarm.local_steps_distribution, LocalStepsDistribution::kGeometric);
  EXPECT_EQ(swarm.spec.strategy.swarm.quantization_bits, 4);
  EXPECT_TRUE(swarm.spec.strategy.swarm.quantization_rotation);
  EXPECT_EQ(swarm.spec.strategy.swarm.slow.momentum, 0.5);
  EXPECT_EQ(swarm.spec.strategy.swarm.slow.rate, 0.7);
  EXPECT_EQ(swarm.spec.network.exchange_timeout_seconds, 0.25);

  const ParsedJob local =
      ParseJob(Job("  strategy: {type: LocalSGD, localSGD: {localSteps: 2, slowMomentum: 0.6, slowRate: 0.9}}\n"));
  ASSERT_THAT(local.errors, IsEmpty());
  EXPECT_EQ(local.spec.strategy.local_sgd.local_steps, 2);
  EXPECT_EQ(local.spec.strategy.local_sgd.slow.momentum, 0.6);
  EXPECT_EQ(local.spec.strategy.local_sgd.slow.rate, 0.9);

  const ParsedJob dpsgd = ParseJob(Job(R"(
  strategy: {type: DPSGD, decentralized: {topology: {type: RandomRegular, degree: 3}, order: AdaptThenCombine,
             slowMomentum: 0.1, slowRate: 2, slowPeriod: 5}}
  worker: {replicas: 8}
)"));
  ASSERT_THAT(dpsgd.errors, IsEmpty());
  EXPECT_EQ(dpsgd.spec.strategy.decentralized.topology.degree, 3);
  EXPECT_EQ(dpsgd.spec.strategy.decentralized.order, CombineOrder::kAdaptThenCombine);
  EXPECT_EQ(dpsgd.spec.strategy.decentralized.slow.momentum, 0.1);
  EXPECT_EQ(dpsgd.spec.strategy.decentralized.slow.rate, 2);
  EXPECT_EQ(dpsgd.spec.strategy.decentralized.slow_period, 5);

  const ParsedJob sgp =
      ParseJob(Job("  strategy: {type: SGP, decentralized: {overlap: 0}}\n  worker: {replicas: 2}\n"));
  ASSERT_THAT(sgp.errors, IsEmpty());
  EXPECT_EQ(sgp.spec.strategy.decentralized.overlap, 0);

  const ParsedJob any = ParseJob(Job("  strategy: {type: Auto, maxStaleness: 3}\n"));
  ASSERT_THAT(any.errors, IsEmpty());
  EXPECT_EQ(any.spec.strategy.max_staleness, 3);
}

// One worker exchanges nothing on the complete graph, and none of the strategies without a topology needs a second.
TEST(ParseJobTest, OneWorker_IsTakenByWhatNeedsNoNeighbour) {
  for (const std::string strategy :
       {"type: Swarm", "type: AllReduce", "type: LocalSGD", "type: SGP, decentralized: {topology: {type: Complete}}"}) {
    EXPECT_THAT(ParseJob(Job("  strategy: {" + strategy + "}\n")).errors, IsEmpty()) << strategy;
  }
}

TEST(ParseJobTest, ClusterFields_AreNamedOnceEachAtTheirTop) {
  const ParsedJob job = ParseJob(Job(R"(
  image: registry.example/weft:0.1.0
  worker: {template: {spec: {containers: [{name: agent}]}}}
  scheduling: {gang: {type: None}, priorityClassName: ""}
  runPolicy: {backoffLimit: 6}
  coordinator:
)"));
  EXPECT_THAT(job.errors, IsEmpty());
  EXPECT_THAT(job.spec.unused_here, ElementsAre("image", "worker.template", "scheduling", "runPolicy", "coordinator"));
}

TEST(ParseJobTest, SeveralErrors_ComeTogetherByLine) {
  const ParsedJob job = ParseJob(Job("  worker: {replicas: 0}\n  trainng: {epochs: 3}\n  server: {replicas: -1}\n"));
  EXPECT_THAT(job.errors, ElementsAre(JobError{7, "worker.replicas: 0 is below 1"},
                                      JobError{8, "unknown field `trainng`; did you mean `training`?"},
                                      JobError{9, "server.replicas: -1 is below 0"}));
  EXPECT_EQ(ToStatus(job.errors).message(),
            "worker.replicas: 0 is below 1; unknown field `trainng`; did you mean `training`?; "
            "server.replicas: -1 is below 0");
}

TEST(ParseJobTest, TextThatIsNoJob_IsRefusedInOneLine) {
  EXPECT_THAT(Errors(""), ElementsAre("the job is empty"));
  EXPECT_THAT(Errors("# nothing\n"), ElementsAre("the job is empty"));
  EXPECT_THAT(Errors("---\n"), ElementsAre("the job is not a map of fields"));
  EXPECT_THAT(Errors("just words"), ElementsAre("the job is not a map of fields"));
  EXPECT_THAT(Errors("[1, 2]"), ElementsAre("the job is not a map of fields"));
  EXPECT_THAT(Errors("a: b: c"), ElementsAre(HasSubstr("the job is not YAML: ")));
  EXPECT_THAT(Errors(Job("") + "---\nkind: X\n"), ElementsAre("the job holds more than one document"));
  EXPECT_THAT(Errors("kind: a\nkind: b\n"), ElementsAre("the job has the key `kind` twice"));
  EXPECT_THAT(Errors("{a: 1, [b]: 2}"), ElementsAre("the job has a key that is not a name"));
  EXPECT_THAT(Errors("kind: !!binary aGk=\n"),
              ElementsAre(HasSubstr("the tag tag:yaml.org,2002:binary, which is not taken")));
}

TEST(ParseJobTest, TextBeyondALimit_IsRefused) {
  EXPECT_THAT(Errors(std::string(kMaxYamlBytes + 1, '#')), ElementsAre("the job is larger than 1048576 bytes"));
  EXPECT_THAT(Errors(std::string(kMaxYamlBytes, '#')), ElementsAre("the job is empty"));
  EXPECT_THAT(Errors(std::string(10'000, '[')), ElementsAre("the job is nested deeper than 64"));
  std::string many = "[0";
  for (int i = 0; i < kMaxYamlNodes; ++i) many += ",0";
  EXPECT_THAT(Errors(many + "]"), ElementsAre("the job has more than 100000 values"));
}

TEST(ParseJobTest, AnchorBomb_IsRefusedBeforeItGrows) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    std::ostringstream line;
    line << "a" << i << ": &a" << i << " [";
    for (int k = 0; k < 9; ++k) line << "*a" << i - 1 << " , ";
    bomb += line.str() + "x]\n";
  }
  EXPECT_THAT(Errors(bomb), ElementsAre("the job has more than 100000 values"));
  EXPECT_THAT(Errors("a: &a [*a]"), ElementsAre("the job has an alias inside the value that it names"));
}

TEST(ParseJobTest, Anchors_StandForTheirValue) {
  const ParsedJob job = ParseJob(Job("  worker: &two {replicas: 2}\n  server: *two\n"));
  EXPECT_THAT(job.errors, IsEmpty());
  EXPECT_EQ(job.spec.server.replicas, 2);
}

TEST(ParseJobTest, EmitYaml_ReadsBackAsTheSameJob) {
  YamlNode root;
  YamlError error;
  const std::string text = Job(R"(
  output: {path: "a: #b\n\"c\""}
  network: {interface: "5"}
  worker: {template: {a: [1, {b: null}, [], {}, "null", ~, 'x, y', yes]}}
)");
  ASSERT_TRUE(ParseYaml(text, &root, &error)) << error.message;
  const std::string emitted = EmitYaml(root);
  YamlNode again;
  ASSERT_TRUE(ParseYaml(emitted, &again, &error)) << error.message << '\n' << emitted;
  EXPECT_EQ(EmitYaml(again), emitted);
  const YamlNode* spec = again.Find("spec");
  ASSERT_NE(spec, nullptr);
  EXPECT_EQ(spec->Find("output")->Find("path")->scalar, "a: #b\n\"c\"");
  EXPECT_TRUE(spec->Find("network")->Find("interface")->quoted);
  const YamlNode* items = spec->Find("worker")->Find("template")->Find("a");
  ASSERT_THAT(items->items, SizeIs(8));
  EXPECT_EQ(items->items[4].kind, YamlNode::Kind::kScalar);
  EXPECT_EQ(items->items[5].kind, YamlNode::Kind::kNull);
}

}  // namespace
}  // namespace weft
