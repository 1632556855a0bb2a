// Whole runs as golden scripts: a line that begins with '>' is told to the generation, the lines after it are what it
// asks for, in order.
#include "coordinator/membership/generation.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace weft {
namespace {

struct Printer {
  std::string operator()(const SendPrepare& a) const { return "prepare " + Rank(a.rank); }
  std::string operator()(const SendMeasureProfile& a) const { return "profile " + Rank(a.rank); }
  std::string operator()(const SendMeasureLink& a) const {
    return "link " + Rank(a.rank) + ": " + Rank(a.worker_rank) + "-" + Rank(a.peer_rank);
  }
  std::string operator()(const SendTrain& a) const { return "train " + Rank(a.rank); }
  std::string operator()(const SendProposePause& a) const { return "propose " + Rank(a.rank) + " " + At(a.iteration); }
  std::string operator()(const SendCommitPause& a) const {
    return "commit " + Rank(a.rank) + " " + At(a.iteration) + (a.stop ? " stop" : "");
  }
  std::string operator()(const SendCancelPause& a) const { return "cancel " + Rank(a.rank) + " " + At(a.iteration); }
  std::string operator()(const SendVerdict& a) const {
    return "verdict " + Rank(a.rank) + " " + At(a.iteration) + (a.stop ? " stop" : " go on");
  }
  std::string operator()(const SendFinishNow& a) const { return "finish " + Rank(a.rank); }
  std::string operator()(const SendExit& a) const {
    return "exit " + Rank(a.rank) + " " + std::to_string(a.code) + (a.reason.empty() ? "" : " " + a.reason);
  }
  std::string operator()(const AskForPlan&) const { return "plan"; }
  std::string operator()(const TellStage& a) const { return "stage: " + a.text; }
  std::string operator()(const TellNote& a) const { return "note: " + a.text; }
  std::string operator()(const EndRun& a) const {
    return "end " + std::to_string(a.exit_code) + (a.resumable ? " resumable" : "") +
           (a.message.empty() ? "" : ": " + a.message);
  }
  static std::string Rank(int rank) { return std::to_string(rank); }
  static std::string At(std::int64_t iteration) { return "@" + std::to_string(iteration); }
};

class Script {
 public:
  explicit Script(GenerationOptions options) : generation_(std::move(options), now_) {}

  // What the generation asks for after `line`.
  std::string Tell(const std::string& line) {
    std::istringstream in(line);
    std::string what;
    in >> what;
    if (what == "register") {
      Registration registration{.generation = 1, .job = "job"};
      in >> registration.rank;
      registration.role = registration.rank < kWorkers ? MemberRole::kWorker : MemberRole::kServer;
      registration.index = registration.rank < kWorkers ? registration.rank : registration.rank - kWorkers;
      registration.pid = 100 + registration.rank;
      const Status status = generation_.OnRegister(registration, now_);
      if (!status.ok()) return status.ToString() + "\n";
    } else if (what == "ready") {
      generation_.OnReady(Int(in), {.iterations_per_epoch = 10, .total_iterations = 1000, .note = ""}, now_);
    } else if (what == "profile") {
      generation_.OnProfile(Int(in), now_);
    } else if (what == "link") {
      const int worker = Int(in);
      generation_.OnLink(worker, Int(in), now_);
    } else if (what == "planned") {
      generation_.OnPlanMade(OkStatus(), /*asynchronous=*/false, now_);
    } else if (what == "planned-asynchronous") {
      generation_.OnPlanMade(OkStatus(), /*asynchronous=*/true, now_);
    } else if (what == "end") {
      generation_.OnEndReached(Int(in), now_);
    } else if (what == "unplanned") {
      generation_.OnPlanMade(InternalError("no groups"), /*asynchronous=*/false, now_);
    } else if (what == "iteration") {
      const int rank = Int(in);
      generation_.OnIteration(rank, Int(in), 0.1, now_);
    } else if (what == "alive") {
      generation_.OnSignOfLife(Int(in), now_);
    } else if (what == "yes" || what == "no") {
      const int rank = Int(in);
      const int proposal = Int(in);
      generation_.OnVote(rank, proposal, what == "yes", Int(in), now_);
    } else if (what == "saved") {
      const int rank = Int(in);
      generation_.OnCheckpoint(rank, Int(in), rank == kWorkers ? "step-1" : "", now_);
    } else if (what == "accuracy") {
      const int iteration = Int(in);
      double accuracy = 0;
      in >> accuracy;
      generation_.OnEvaluation(iteration, accuracy, false, now_);
    } else if (what == "final") {
      generation_.OnEvaluation(Int(in), 0.9, true, now_);
    } else if (what == "finished") {
      generation_.OnFinished(Int(in), now_);
    } else if (what == "failure") {
      generation_.OnFailure(Int(in), UnavailableError("server 0 is gone"));
    } else if (what == "refused") {
      generation_.OnFailure(Int(in), InvalidArgumentError("data.path: no such folder"));
    } else if (what == "lost") {
      generation_.OnStreamLost(Int(in), now_);
    } else if (what == "mpirun-killed") {
      generation_.OnLauncherEnded("mpirun was killed by signal 9", true, now_);
    } else if (what == "mpirun-ended") {
      generation_.OnLauncherEnded("mpirun ended with exit code 0", false, now_);
    } else if (what == "stop") {
      generation_.OnStopAsked(now_);
    } else if (what == "after") {
      now_ += std::chrono::milliseconds(Int(in));
      generation_.OnTick(now_);
    } else {
      ADD_FAILURE() << "unknown line: " << line;
    }
    return Actions();
  }

  std::string Actions() {
    std::string text;
    for (const Action& action : generation_.TakeActions()) text += std::visit(Printer{}, action) + "\n";
    return text;
  }

  // Runs a script and gives it back with what really came after each line.
  std::string Run(const std::string& script) {
    std::istringstream in(script);
    std::string transcript;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("> ")) transcript += line + "\n" + Tell(line.substr(2));
    }
    return transcript;
  }

 private:
  static int Int(std::istringstream& in) {
    int value = -1;
    in >> value;
    return value;
  }

  TimePoint now_{};
  Generation generation_;
  static constexpr int kWorkers = 2;
};

GenerationOptions TwoWorkersAndAServer() {
  GenerationOptions options;
  options.job = "job";
  options.workers = 2;
  options.servers = 1;
  return options;
}

void ExpectScript(GenerationOptions options, const std::string& expected, const std::vector<std::string>& before = {}) {
  Script script(std::move(options));
  script.Actions();
  for (const std::string& line : before) script.Tell(line);
  EXPECT_EQ(script.Run(expected), expected);
}

const std::vector<std::string> kTraining = {"register 0", "register 1", "register 2", "ready 0",
                                            "ready 1",    "ready 2",    "planned"};

GenerationOptions WithPlan() {
  GenerationOptions options = TwoWorkersAndAServer();
  options.measure = false;
  return options;
}

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

TEST(GenerationTest, StopAsked_PausesAheadSavesAndEnds) {
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

TEST(GenerationTest, PauseRefused_IsProposedAgainFurtherAhead) {
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

const std::vector<std::string> kAsynchronousTraining = {"register 0", "register 1", "register 2",          "ready 0",
                                                        "ready 1",    "ready 2",    "planned-asynchronous"};

TEST(GenerationTest, AsynchronousStop_PausesEachAtItsOwnIteration) {
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

TEST(GenerationTest, AsynchronousWorkersAtTheirEnd_WaitForEachOtherAndStillPause) {
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

TEST(GenerationTest, AsynchronousWorkerAtItsEnd_MayBeSilent) {
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

TEST(GenerationTest, CheckpointInterval_SavesAndGoesOn) {
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

TEST(GenerationTest, WorkerThatDoesNotVote_IsNamed) {
  ExpectScript(WithPlan(), R"(> yes 0 43 41
> yes 2 43 41
> after 120000
exit 0 1 worker 1 (pid 101) did not answer a pause within 120 s
exit 1 1 worker 1 (pid 101) did not answer a pause within 120 s
exit 2 1 worker 1 (pid 101) did not answer a pause within 120 s
end 1: worker 1 (pid 101) did not answer a pause within 120 s
)",
               [] {
                 std::vector<std::string> before = kTraining;
                 before.insert(before.end(), {"iteration 0 40", "stop"});
                 return before;
               }());
}

TEST(GenerationTest, SilentWorker_IsNamed) {
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

TEST(GenerationTest, WorkerThatWaitsAndSaysSo_IsNotSilent) {
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

TEST(GenerationTest, TargetAccuracy_GivesAVerdictAfterEachEpoch) {
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

TEST(GenerationTest, WorkerThatFinishesWhileAPauseIsProposed_CancelsIt) {
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
               [] {
                 std::vector<std::string> before = kTraining;
                 before.insert(before.end(), {"iteration 0 40", "stop"});
                 return before;
               }());
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

TEST(GenerationTest, NoFinalEvaluation_NamesTheWriter) {
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

}  // namespace
}  // namespace weft
