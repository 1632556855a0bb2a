#include "tests/coordinator/membership/generation_script.h"

#include <gtest/gtest.h>

#include <sstream>
#include <utility>
#include <variant>

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
    return "commit " + Rank(a.rank) + " " + At(a.iteration) +
           (a.purpose == PausePurpose::kCheckpointAndStop ? " stop"
            : a.purpose == PausePurpose::kChangePlan      ? " plan"
                                                          : "");
  }
  std::string operator()(const TakeNewPlan& a) const { return "take plan " + At(a.iteration); }
  std::string operator()(const PlanChanged&) const { return "plan changed"; }
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
  static std::string At(std::int64_t iteration) { return std::string("@").append(std::to_string(iteration)); }
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
    } else if (what == "missing") {
      generation_.OnFailure(Int(in), NotFoundError("write checkpoints/step-9: No such file or directory"));
    } else if (what == "lost") {
      generation_.OnStreamLost(Int(in), now_);
    } else if (what == "mpirun-killed") {
      generation_.OnLauncherEnded("mpirun was killed by signal 9", true, now_);
    } else if (what == "mpirun-ended") {
      generation_.OnLauncherEnded("mpirun ended with exit code 0", false, now_);
    } else if (what == "new-plan") {
      generation_.OnPlanReady(Int(in), now_);
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

}  // namespace

void ExpectScript(GenerationOptions options, const std::string& expected, const std::vector<std::string>& before) {
  Script script(std::move(options));
  script.Actions();
  for (const std::string& line : before) script.Tell(line);
  EXPECT_EQ(script.Run(expected), expected);
}

GenerationOptions TwoWorkersAndAServer() {
  GenerationOptions options;
  options.job = "job";
  options.workers = 2;
  options.servers = 1;
  return options;
}

GenerationOptions WithPlan() {
  GenerationOptions options = TwoWorkersAndAServer();
  options.measure = false;
  return options;
}

const std::vector<std::string> kTraining = {"register 0", "register 1", "register 2", "ready 0",
                                            "ready 1",    "ready 2",    "planned"};

const std::vector<std::string> kAsynchronousTraining = {"register 0", "register 1", "register 2",          "ready 0",
                                                        "ready 1",    "ready 2",    "planned-asynchronous"};

}  // namespace weft
