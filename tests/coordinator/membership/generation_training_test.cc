// The training of a generation: pauses, verdicts, and its end.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/coordinator/membership/generation_script.h"

namespace weft {
namespace {

std::vector<std::string> StopAskedInTraining() {
  std::vector<std::string> before = kTraining;
  before.insert(before.end(), {"iteration 0 40", "stop"});
  return before;
}

TEST(GenerationTrainingTest, StopAsked_PausesAheadSavesAndEnds) {
  ExpectScript(WithPlan(), R"(> iteration 0 40
> stop
stage: stopping after a checkpoint
propose 0 @43
propose 1 @43
propose 2 @43
> yes 0 43 41
> yes 1 43 42
> yes 2 43 42
commit 0 @43 stop
commit 1 @43 stop
commit 2 @43 stop
> saved 0 43
> saved 1 43
> saved 2 43
exit 0 0 stopped
exit 1 0 stopped
exit 2 0 stopped
> lost 0
> lost 1
> lost 2
> mpirun-ended
end 130 resumable: stopped
)",
               kTraining);
}

TEST(GenerationTrainingTest, PauseRefused_IsProposedAgainFurtherAhead) {
  ExpectScript(WithPlan(), R"(> iteration 0 40
> stop
stage: stopping after a checkpoint
propose 0 @43
propose 1 @43
propose 2 @43
> yes 0 43 43
> no 1 43 47
> yes 2 43 43
cancel 0 @43
cancel 1 @43
cancel 2 @43
propose 0 @49
propose 1 @49
propose 2 @49
)",
               kTraining);
}

TEST(GenerationTrainingTest, PauseRefusedLate_IsProposedAsFarAheadAsVotesTake) {
  ExpectScript(WithPlan(), R"(> iteration 0 40
> stop
stage: stopping after a checkpoint
propose 0 @43
propose 1 @43
propose 2 @43
> after 3000
> iteration 0 50
> yes 0 43 43
> no 1 43 47
> yes 2 43 43
cancel 0 @43
cancel 1 @43
cancel 2 @43
propose 0 @111
propose 1 @111
propose 2 @111
)",
               kTraining);
}

TEST(GenerationTrainingTest, NewPlan_IsTakenBehindOneIterationAndNothingIsSaved) {
  ExpectScript(WithPlan(), R"(> iteration 0 41
> new-plan 4
propose 0 @44
propose 1 @44
propose 2 @44
> yes 0 44 42
> yes 1 44 42
> yes 2 44 0
take plan @44
commit 0 @44 plan
commit 1 @44 plan
commit 2 @44 plan
> saved 0 44
> saved 1 44
> saved 2 44
plan changed
> stop
stage: stopping after a checkpoint
propose 0 @47
propose 1 @47
propose 2 @47
)",
               kTraining);
}

// Epochs are of 10 iterations: a server may have taken the model behind iteration 50 by the old plan already.
TEST(GenerationTrainingTest, NewPlanLessThanAPeriodBeforeAnEvaluation_WaitsUntilBehindIt) {
  ExpectScript(WithPlan(), R"(> iteration 0 44
> new-plan 4
propose 0 @50
propose 1 @50
propose 2 @50
)",
               kTraining);
}

TEST(GenerationTrainingTest, StopWhileANewPlanIsProposed_SavesInstead) {
  ExpectScript(WithPlan(), R"(> iteration 0 41
> new-plan 1
propose 0 @44
propose 1 @44
propose 2 @44
> stop
stage: stopping after a checkpoint
> yes 0 44 42
> yes 1 44 42
> yes 2 44 0
commit 0 @44 stop
commit 1 @44 stop
commit 2 @44 stop
)",
               kTraining);
}

TEST(GenerationTrainingTest, NewPlanNearTheEnd_IsNotProposed) {
  ExpectScript(WithPlan(), R"(> iteration 0 998
> new-plan 4
)",
               kTraining);
}

TEST(GenerationTrainingTest, RankThatDoesNotChange_IsNamed) {
  ExpectScript(WithPlan(), R"(> iteration 0 41
> new-plan 1
propose 0 @44
propose 1 @44
propose 2 @44
> yes 0 44 42
> yes 1 44 42
> yes 2 44 0
take plan @44
commit 0 @44 plan
commit 1 @44 plan
commit 2 @44 plan
> saved 0 44
> saved 1 44
> after 121000
exit 0 1 server 0 (pid 102) did not change to the new plan within 120 s
exit 1 1 server 0 (pid 102) did not change to the new plan within 120 s
exit 2 1 server 0 (pid 102) did not change to the new plan within 120 s
end 1: server 0 (pid 102) did not change to the new plan within 120 s
)",
               kTraining);
}

TEST(GenerationTrainingTest, AsynchronousStop_PausesEachAtItsOwnIteration) {
  ExpectScript(WithPlan(), R"(> iteration 0 40
> iteration 1 900
> stop
stage: stopping after a checkpoint
propose 0 @0
propose 1 @0
propose 2 @0
> yes 0 0 41
> yes 1 0 901
> yes 2 0 0
commit 0 @0 stop
commit 1 @0 stop
commit 2 @0 stop
> saved 0 0
> saved 1 0
> saved 2 0
exit 0 0 stopped
exit 1 0 stopped
exit 2 0 stopped
)",
               kAsynchronousTraining);
}

TEST(GenerationTrainingTest, AsynchronousWorkersAtTheirEnd_WaitForEachOtherAndStillPause) {
  GenerationOptions options = WithPlan();
  options.checkpoint_interval = std::chrono::seconds(1);
  ExpectScript(options, R"(> end 0
> after 1000
propose 0 @0
propose 1 @0
propose 2 @0
> end 1
> yes 0 0 1001
> yes 1 0 1001
> yes 2 0 0
commit 0 @0
commit 1 @0
commit 2 @0
> saved 0 0
> saved 1 0
> saved 2 0
finish 0
finish 1
> after 1000
> finished 0
> finished 1
> final 1000
exit 0 0
exit 1 0
exit 2 0
)",
               kAsynchronousTraining);
}

TEST(GenerationTrainingTest, AsynchronousWorkerAtItsEnd_MayBeSilent) {
  ExpectScript(WithPlan(), R"(> end 0
> after 60000
> iteration 1 40
> after 60000
> after 60000
exit 0 1 worker 1 (pid 101) has not been heard of for 120 s
exit 1 1 worker 1 (pid 101) has not been heard of for 120 s
exit 2 1 worker 1 (pid 101) has not been heard of for 120 s
end 1: worker 1 (pid 101) has not been heard of for 120 s
)",
               kAsynchronousTraining);
}

TEST(GenerationTrainingTest, CheckpointInterval_SavesAndGoesOn) {
  GenerationOptions options = WithPlan();
  options.checkpoint_interval = std::chrono::seconds(1);
  ExpectScript(options, R"(> iteration 0 5
> after 1050
propose 0 @19
propose 1 @19
propose 2 @19
> yes 0 19 16
> yes 1 19 16
> yes 2 19 16
commit 0 @19
commit 1 @19
commit 2 @19
> saved 0 19
> saved 1 19
> saved 2 19
> after 999
> after 51
propose 0 @33
propose 1 @33
propose 2 @33
> lost 0
> after 300
exit 1 1 worker 0 (pid 100) died
exit 2 1 worker 0 (pid 100) died
end 1 resumable: worker 0 (pid 100) died
)",
               kTraining);
}

TEST(GenerationTrainingTest, WorkerThatDoesNotVote_IsNamed) {
  ExpectScript(WithPlan(), R"(> yes 0 43 41
> yes 2 43 41
> after 120000
exit 0 1 worker 1 (pid 101) did not answer a pause within 120 s
exit 1 1 worker 1 (pid 101) did not answer a pause within 120 s
exit 2 1 worker 1 (pid 101) did not answer a pause within 120 s
end 1: worker 1 (pid 101) did not answer a pause within 120 s
)",
               StopAskedInTraining());
}

TEST(GenerationTrainingTest, SilentWorker_IsNamed) {
  ExpectScript(WithPlan(), R"(> after 60000
> iteration 0 1
> after 60000
exit 0 1 worker 1 (pid 101) has not been heard of for 120 s
exit 1 1 worker 1 (pid 101) has not been heard of for 120 s
exit 2 1 worker 1 (pid 101) has not been heard of for 120 s
end 1: worker 1 (pid 101) has not been heard of for 120 s
)",
               kTraining);
}

TEST(GenerationTrainingTest, WorkerThatWaitsAndSaysSo_IsNotSilent) {
  ExpectScript(WithPlan(), R"(> after 60000
> alive 0
> alive 1
> after 119999
> iteration 0 1
> iteration 1 1
> after 60000
)",
               kTraining);
}

TEST(GenerationTrainingTest, TargetAccuracy_GivesAVerdictAfterEachEpoch) {
  GenerationOptions options = WithPlan();
  options.target_accuracy = 0.8;
  ExpectScript(options, R"(> accuracy 10 0.79
verdict 0 @10 go on
verdict 1 @10 go on
> accuracy 20 0.8
verdict 0 @20 stop
verdict 1 @20 stop
)",
               kTraining);
}

TEST(GenerationTrainingTest, WorkerThatFinishesWhileAPauseIsProposed_CancelsIt) {
  ExpectScript(WithPlan(), R"(> yes 1 43 41
> finished 0
cancel 0 @43
cancel 1 @43
cancel 2 @43
> yes 2 43 41
> finished 1
> final 40
exit 0 0
exit 1 0
exit 2 0
)",
               StopAskedInTraining());
}

TEST(GenerationTrainingTest, NoFinalEvaluation_NamesTheWriter) {
  ExpectScript(WithPlan(), R"(> finished 0
> finished 1
> after 120000
exit 0 1 server 0 (pid 102) has not been heard of for 120 s
exit 1 1 server 0 (pid 102) has not been heard of for 120 s
exit 2 1 server 0 (pid 102) has not been heard of for 120 s
end 1: server 0 (pid 102) has not been heard of for 120 s
)",
               kTraining);
}

TEST(GenerationTest, FinalEvaluationTakesLong_WordsOfItKeepTheRunGoing) {
  ExpectScript(WithPlan(), R"(> finished 0
> finished 1
> after 119000
> alive 2
> after 119000
> after 1000
exit 0 1 server 0 (pid 102) has not been heard of for 120 s
exit 1 1 server 0 (pid 102) has not been heard of for 120 s
exit 2 1 server 0 (pid 102) has not been heard of for 120 s
end 1: server 0 (pid 102) has not been heard of for 120 s
)",
               kTraining);
}

}  // namespace
}  // namespace weft
