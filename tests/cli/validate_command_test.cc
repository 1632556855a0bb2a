#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/cli/run_weft.h"

namespace weft {
namespace {

using testing::HasSubstr;

constexpr char kHead[] = "apiVersion: weft.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: job}\n";

std::string FileWith(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "weft_validate_command_" + name;
  std::ofstream(path) << text;
  return path;
}

TEST(ValidateCommandTest, Example_IsValid) {
  const CommandOutcome outcome = RunWeft("validate examples/fashion-mnist.yaml");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "examples/fashion-mnist.yaml: valid\n");
  EXPECT_EQ(outcome.err, "");
}

TEST(ValidateCommandTest, ClusterFields_AreNamedInOneLine) {
  const std::string path = FileWith("cluster.yaml", std::string(kHead) +
                                                        "spec:\n  image: weft:1\n  model: {name: lenet}\n"
                                                        "  data: {path: /data, volume: {emptyDir: {}}}\n");
  const CommandOutcome outcome = RunWeft("validate " + path);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, path + ": valid\n" + path + ": unused outside a cluster: image, data.volume\n");
}

TEST(ValidateCommandTest, EachError_HasALineWithItsPlace) {
  const std::string path = FileWith("bad.yaml", std::string(kHead) +
                                                    "spec:\n  model: {name: lenet}\n  trainng: {}\n"
                                                    "  worker: {replicas: 0}\n");
  const CommandOutcome outcome = RunWeft("validate " + path);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, path + ": data.path: is missing, which format IDX needs\n" + path +
                             ":6: unknown field `trainng`; did you mean `training`?\n" + path +
                             ":7: worker.replicas: 0 is below 1\n");
}

TEST(ValidateCommandTest, Overrides_AreAppliedFirst) {
  const std::string command = "validate examples/fashion-mnist.yaml --set ";
  EXPECT_EQ(RunWeft(command + "strategy.type=merged-ps --set worker.replicas=2").exit_code, 0);
  const CommandOutcome outcome = RunWeft(command + "worker.replicas=0 --set spec.training.optimizer.learningRate=.nan");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err,
            "examples/fashion-mnist.yaml: training.optimizer.learningRate: .nan is not a finite number\n"
            "examples/fashion-mnist.yaml: worker.replicas: 0 is below 1\n");
}

TEST(ValidateCommandTest, StrategyOfAnotherFamily_TellsWhatItDropped) {
  const CommandOutcome outcome = RunWeft("validate examples/fashion-mnist.yaml --set strategy.type=swarm");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "examples/fashion-mnist.yaml: valid\n");
  EXPECT_EQ(outcome.err,
            "examples/fashion-mnist.yaml: strategy.type=Swarm: dropped strategy.parameterServer, server\n");
}

TEST(ValidateCommandTest, StandardInput_IsTakenForADash) {
  EXPECT_EQ(RunWeft("validate - < examples/fashion-mnist.yaml").exit_code, 0);
  const CommandOutcome empty = RunWeft("validate - < /dev/null");
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_EQ(empty.err, "-: the job is empty\n");
}

TEST(ValidateCommandTest, WhatIsNoFile_IsBadInputInOneLine) {
  EXPECT_EQ(RunWeft("validate /nonexistent/job.yaml").exit_code, 2);
  EXPECT_EQ(RunWeft("validate /nonexistent/job.yaml").err,
            "weft: /nonexistent/job.yaml: open: No such file or directory\n");
  EXPECT_EQ(RunWeft("validate /").err, "weft: /: read: Is a directory\n");
  const CommandOutcome endless = RunWeft("validate /dev/zero");
  EXPECT_EQ(endless.exit_code, 2);
  EXPECT_EQ(endless.err, "/dev/zero: the job is larger than 1048576 bytes\n");
  const CommandOutcome none = RunWeft("validate");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("FILE is required"));
}

}  // namespace
}  // namespace weft
