// How a generation forms, measures, plans and breaks.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/coordinator/membership/generation_script.h"

namespace weft {
namespace {

TEST(GenerationTest, WholeRun_GoesThroughAllStages) {
  ExpectScript(TwoWorkersAndAServer(), R"(> register 2
> register 0
> register 1
stage: reading the data and making the model
prepare 0
prepare 1
prepare 2
> ready 0
> ready 2
> ready 1
stage: measuring the model
profile 0
profile 1
> profile 1
> profile 0
stage: measuring links: 1 of 2
link 2: 0-2
link 0: 0-2
> link 0 2
stage: measuring links: 2 of 2
link 2: 1-2
link 1: 1-2
> link 1 2
stage: planning
plan
> planned
stage: training
train 0
train 1
train 2
> iteration 0 1
> finished 0
> finished 1
> final 1000
exit 0 0
exit 1 0
exit 2 0
> lost 0
> lost 1
> lost 2
> mpirun-ended
end 0
)");
}

TEST(GenerationTest, PlanGiven_NothingIsMeasured) {
  ExpectScript(WithPlan(), R"(> ready 2
plan
> planned
stage: training
train 0
train 1
train 2
)",
               {"register 0", "register 1", "register 2", "ready 0", "ready 1"});
}

TEST(GenerationTest, RankThatDoesNotCome_IsNamedAtTheTimeout) {
  ExpectScript(TwoWorkersAndAServer(), R"(> register 0
> register 2
> after 29999
> after 1
exit 0 1 worker 1 did not register within 30 s
exit 2 1 worker 1 did not register within 30 s
end 1: worker 1 did not register within 30 s
)");
}

TEST(GenerationTest, SecondRegistration_IsRefusedAndTheRunGoesOn) {
  ExpectScript(TwoWorkersAndAServer(), R"(> register 0
> register 0
ALREADY_EXISTS: worker 0 is registered already
> register 7
INVALID_ARGUMENT: rank: 7 is not below 3
> register 1
)");
}

TEST(GenerationTest, OlderGeneration_IsRefused) {
  Generation generation(TwoWorkersAndAServer(), TimePoint{});
  const Status status =
      generation.OnRegister({.generation = 0, .job = "job", .role = MemberRole::kWorker, .rank = 0}, TimePoint{});
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_FALSE(generation.ended());
}

TEST(GenerationTest, ForeignJob_IsRefused) {
  Generation generation(TwoWorkersAndAServer(), TimePoint{});
  EXPECT_EQ(generation.OnRegister({.generation = 1, .job = "other"}, TimePoint{}).code(),
            StatusCode::kFailedPrecondition);
}

TEST(GenerationTest, ServerThatIsNotReady_IsNamed) {
  ExpectScript(TwoWorkersAndAServer(), R"(> after 120000
exit 0 1 server 0 (pid 102) was not ready within 120 s
exit 1 1 server 0 (pid 102) was not ready within 120 s
exit 2 1 server 0 (pid 102) was not ready within 120 s
end 1: server 0 (pid 102) was not ready within 120 s
)",
               {"register 0", "register 1", "register 2", "ready 0", "ready 1"});
}

TEST(GenerationTest, RankThatDies_IsTheCauseAndNotThoseThatFollowIt) {
  ExpectScript(WithPlan(), R"(> lost 2
> lost 0
> failure 1
> after 299
> after 1
exit 1 1 server 0 (pid 102) died
end 1: server 0 (pid 102) died
)",
               kTraining);
}

TEST(GenerationTest, LauncherThatIsKilled_IsTheCauseThoughTheRanksWentFirst) {
  ExpectScript(WithPlan(), R"(> lost 1
> after 100
> mpirun-killed
exit 0 1 mpirun was killed by signal 9
exit 2 1 mpirun was killed by signal 9
end 1: mpirun was killed by signal 9
)",
               kTraining);
}

TEST(GenerationTest, LauncherThatEnds_WaitsForTheNewsOfWhichRankDied) {
  ExpectScript(WithPlan(), R"(> mpirun-ended
> after 1000
> lost 1
> after 300
exit 0 1 worker 1 (pid 101) died
exit 2 1 worker 1 (pid 101) died
end 1: worker 1 (pid 101) died
)",
               kTraining);
}

TEST(GenerationTest, LauncherThatEndsAlone_IsTheCauseAfterTwoSeconds) {
  ExpectScript(WithPlan(), R"(> mpirun-ended
> after 1999
> after 1
exit 0 1 mpirun ended with exit code 0
exit 1 1 mpirun ended with exit code 0
exit 2 1 mpirun ended with exit code 0
end 1: mpirun ended with exit code 0
)",
               kTraining);
}

TEST(GenerationTest, FailureTold_EndsTheRunWithItsCause) {
  ExpectScript(WithPlan(), R"(> failure 1
exit 0 1 worker 1: server 0 is gone
exit 1 1 worker 1: server 0 is gone
exit 2 1 worker 1: server 0 is gone
end 1: worker 1: server 0 is gone
)",
               kTraining);
}

TEST(GenerationTest, BadInputTold_EndsWithCode2) {
  ExpectScript(TwoWorkersAndAServer(), R"(> refused 0
exit 0 2 worker 0: data.path: no such folder
exit 1 2 worker 0: data.path: no such folder
exit 2 2 worker 0: data.path: no such folder
end 2: worker 0: data.path: no such folder
)",
               {"register 0", "register 1", "register 2"});
}

TEST(GenerationTest, FileThatIsMissing_IsBadInputUntilItTrains) {
  ExpectScript(TwoWorkersAndAServer(), R"(> missing 0
exit 0 2 worker 0: write checkpoints/step-9: No such file or directory
exit 1 2 worker 0: write checkpoints/step-9: No such file or directory
exit 2 2 worker 0: write checkpoints/step-9: No such file or directory
end 2: worker 0: write checkpoints/step-9: No such file or directory
)",
               {"register 0", "register 1", "register 2"});
  ExpectScript(WithPlan(), R"(> missing 0
exit 0 1 worker 0: write checkpoints/step-9: No such file or directory
exit 1 1 worker 0: write checkpoints/step-9: No such file or directory
exit 2 1 worker 0: write checkpoints/step-9: No such file or directory
end 1: worker 0: write checkpoints/step-9: No such file or directory
)",
               kTraining);
}

TEST(GenerationTest, WithoutServers_EachWorkerMeasuresItsLinkToTheNext) {
  GenerationOptions options;
  options.job = "job";
  options.workers = 2;
  options.servers = 0;
  options.peer_links = true;
  ExpectScript(options, R"(> ready 1
stage: measuring the model
profile 0
profile 1
> profile 0
> profile 1
stage: measuring links: 1 of 1
link 1: 0-1
link 0: 0-1
> link 0 1
stage: planning
plan
> planned
stage: training
train 0
train 1
)",
               {"register 0", "register 1", "ready 0"});
}

TEST(GenerationTest, StopBeforeTraining_EndsAtOnce) {
  ExpectScript(TwoWorkersAndAServer(), R"(> stop
exit 0 0 stopped
end 130: stopped
)",
               {"register 0"});
}

TEST(GenerationTest, PlanThatCannotBeMade_EndsTheRun) {
  ExpectScript(WithPlan(), R"(> unplanned
exit 0 1 the plan could not be made: no groups
exit 1 1 the plan could not be made: no groups
exit 2 1 the plan could not be made: no groups
end 1: the plan could not be made: no groups
)",
               {"register 0", "register 1", "register 2", "ready 0", "ready 1", "ready 2"});
}

}  // namespace
}  // namespace weft
