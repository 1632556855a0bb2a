#include "cli/run_command.h"

#include <unistd.h>

#include <CLI/App.hpp>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/job_file.h"
#include "cli/progress.h"
#include "cli/run_display.h"
#include "cli/run_watcher.h"
#include "cli/testbed.h"
#include "common/report/report.h"
#include "common/rpc/rpc.h"
#include "common/rundir/atomic_file.h"
#include "common/rundir/checkpoint.h"
#include "common/rundir/run_directory.h"
#include "common/testbed/testbed.h"
#include "coordinator/launch/process.h"
#include "coordinator/service/plan_files.h"

namespace weft {
namespace {

constexpr std::size_t kMaxJobBytes = 4u << 20;
constexpr std::size_t kMaxSummaryBytes = 16u << 20;
constexpr int kExitInterrupted = 130;
constexpr Duration kPoll = std::chrono::milliseconds(50);
constexpr Duration kAnswerTime = std::chrono::seconds(10);  // for the coordinator to be there
constexpr Duration kTermGrace = std::chrono::milliseconds(500);
constexpr Duration kEndTime = std::chrono::seconds(4);

volatile std::sig_atomic_t signals_seen = 0;
void CountSignal(int /*signal*/) { signals_seen = signals_seen + 1; }

struct RunFlags {
  JobFileOptions job;
  std::string out;
  std::string plan;
  std::string resume;
  std::string testbed;
  int metrics_port = 0;
  std::string prometheus_targets;
  int inject_delay_us = 0;
  std::string inject_rate_file;
};

// What is run, and where.
struct PreparedRun {
  RunLock lock;
  std::string directory;
  std::string job_file;
  std::string plan_file;          // empty: measure and plan
  std::string targets_file = {};  // for Prometheus; empty: none
  std::string testbed = {};       // its name; empty: this machine
  std::string checkpoint;
  std::int64_t start_iteration = 0;
  std::vector<std::int64_t> worker_iterations;  // where each has its own
};

// A folder of our own that is removed at the end.
class ScratchFolder {
 public:
  static Result<ScratchFolder> Make(const std::string& parent) {
    std::string path = parent + "/weft-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) return ErrnoError("make a folder in " + parent, errno);
    return ScratchFolder(path);
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Short enough for a socket in it.
std::string TemporaryParent() {
  const char* given = std::getenv("TMPDIR");
  if (given == nullptr || std::string(given).size() > kMaxSocketPathBytes / 2 || access(given, W_OK) != 0)
    return "/tmp";
  return given;
}

std::string SegmentParent() { return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : TemporaryParent(); }

Result<std::string> FolderOfThisProgram() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return InternalError("/proc/self/exe: " + error.message());
  return self.parent_path().string();
}

// The plan that a resumed run goes on with, and those that it changed to later.
std::string PlanPathOf(const RunDirectory& directory) {
  std::error_code error;
  return std::filesystem::is_directory(directory.plans(), error) ? directory.plans() : directory.plan();
}

// What is read from relative paths is looked for here, from where the ranks are started too: they would not say where.
Status CheckRelativePaths(const JobSpec& job) {
  const std::pair<const char*, const std::string*> paths[] = {{"data.path", &job.data.path},
                                                              {"model.replay.timeline", &job.model.replay_timeline},
                                                              {"model.initialWeights", &job.model.initial_weights}};
  for (const auto& [field, path] : paths) {
    if (path->empty() || path->front() == '/' || access(path->c_str(), R_OK) == 0) continue;
    const Status status = ErrnoError("open " + *path, errno);
    std::error_code ignored;
    return InvalidArgumentError(std::string(field) + ": " + status.message() + " (relative to " +
                                std::filesystem::current_path(ignored).string() + ", where weft runs)");
  }
  return OkStatus();
}

Result<PreparedRun> PrepareNew(const RunFlags& flags, const ParsedJob& job) {
  WEFT_RETURN_IF_ERROR(CheckRelativePaths(job.spec));
  PreparedRun run;
  if (!flags.plan.empty()) {
    WEFT_RETURN_IF_ERROR(ReadPlans(flags.plan, 0, job.spec).status());
    run.plan_file = std::filesystem::absolute(flags.plan);
  }
  WEFT_ASSIGN_OR_RETURN(
      const RunDirectory directory,
      flags.out.empty() ? RunDirectory::Create(job.spec.output_path, job.spec.name, std::chrono::system_clock::now())
                        : RunDirectory::CreateAt(flags.out));
  if (const Status status = WriteFileAtomically(directory.job(), job.text); !status.ok()) {
    directory.Discard();
    return status;
  }
  WEFT_ASSIGN_OR_RETURN(run.lock, directory.Lock());
  run.directory = directory.path();
  run.job_file = directory.job();
  return run;
}

Result<PreparedRun> PrepareResume(const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(const RunDirectory directory, RunDirectory::Open(path));
  WEFT_ASSIGN_OR_RETURN(RunLock lock, directory.Lock());
  WEFT_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(directory.job(), kMaxJobBytes));
  const ParsedJob job = ParseJob(text);
  if (!job.ok()) return ToStatus(job.errors).WithContext(directory.job());
  WEFT_RETURN_IF_ERROR(CheckRelativePaths(job.spec));
  // A checkpoint from on the way would be trained on again.
  if (const Result<std::string> summary = ReadSmallFile(directory.summary(), kMaxSummaryBytes);
      summary.ok() && TellsSuccess(*summary)) {
    return InvalidArgumentError(path + ": this run has finished; there is nothing to go on with");
  }
  WEFT_ASSIGN_OR_RETURN(const CheckpointSearch search, FindNewestCheckpoint(directory.checkpoints()));
  for (const Status& refused : search.refused) ReportError("passed over: " + refused.message());
  if (!search.newest.has_value()) {
    return InvalidArgumentError(directory.checkpoints() + ": no checkpoint to go on from");
  }
  const std::string plan = PlanPathOf(directory);
  WEFT_RETURN_IF_ERROR(ReadPlans(plan, search.newest->state.iteration, job.spec).status());
  return PreparedRun{.lock = std::move(lock),
                     .directory = directory.path(),
                     .job_file = directory.job(),
                     .plan_file = plan,
                     .checkpoint = search.newest->path,
                     .start_iteration = search.newest->state.iteration,
                     .worker_iterations = search.newest->state.worker_iterations};
}

// Of the folder where Prometheus looks for runs. The file's name is the run's: two runs don't share one.
std::string TargetsFile(const std::string& targets, const std::string& run_directory) {
  const std::filesystem::path run = std::filesystem::absolute(run_directory).lexically_normal();
  const std::string name = run.has_filename() ? run.filename() : run.parent_path().filename();
  return std::filesystem::absolute(targets) / (name + ".json");
}

bool HasCheckpoint(const std::string& run_directory) {
  const Result<CheckpointSearch> search = FindNewestCheckpoint(run_directory + "/checkpoints");
  return search.ok() && search->newest.has_value();
}

// This process's arguments as a shell would take them.
std::string OwnCommand() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string command;
  for (std::string argument; std::getline(file, argument, '\0');) {
    constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
    if (argument.empty() || argument.find_first_not_of(kPlain) != std::string::npos) {
      std::string quoted = "'";
      for (const char c : argument) quoted += c == '\'' ? "'\\''" : std::string(1, c);
      argument = quoted + "'";
    }
    command += (command.empty() ? "" : " ") + argument;
  }
  return command;
}

Command CoordinatorCommand(const RunFlags& flags, const PreparedRun& run, const std::string& binaries,
                           const std::string& scratch, const std::string& segments) {
  Command command;
  command.arguments = {binaries + "/weft-coordinator",
                       "--job-file",
                       run.job_file,
                       "--run-directory",
                       run.directory,
                       "--socket",
                       scratch + "/c",
                       "--command",
                       OwnCommand(),
                       "--agent",
                       binaries + "/weft-agent",
                       "--temporary-directory",
                       scratch + "/ranks",
                       "--segment-directory",
                       segments,
                       "--metrics-port",
                       std::to_string(flags.metrics_port),
                       "--inject-delay-us",
                       std::to_string(flags.inject_delay_us)};
  if (!run.testbed.empty()) command.arguments.insert(command.arguments.end(), {"--testbed", TestbedPath(run.testbed)});
  if (!flags.inject_rate_file.empty()) {
    command.arguments.insert(command.arguments.end(),
                             {"--inject-rate-file", std::filesystem::absolute(flags.inject_rate_file)});
  }
  if (!run.plan_file.empty()) command.arguments.insert(command.arguments.end(), {"--plan", run.plan_file});
  if (!run.targets_file.empty()) {
    command.arguments.insert(command.arguments.end(), {"--prometheus-targets", run.targets_file});
  }
  if (!run.checkpoint.empty()) {
    command.arguments.insert(command.arguments.end(), {"--checkpoint", run.checkpoint, "--start-iteration",
                                                       std::to_string(run.start_iteration)});
  }
  if (!run.worker_iterations.empty()) {
    std::string list;
    for (const std::int64_t iteration : run.worker_iterations) {
      list += (list.empty() ? "" : ",") + std::to_string(iteration);
    }
    command.arguments.insert(command.arguments.end(), {"--worker-iterations", list});
  }
  command.output_path = run.directory + "/logs/coordinator.log";
  command.death_signal = SIGTERM;  // it ends the ranks and removes their files
  return command;
}

// Shows the events until the coordinator has ended. Returns what it said last.
std::optional<v1::Ended> Follow(Process& coordinator, RunWatcher& watcher, RunDisplay& display) {
  Clock& clock = Clock::Steady();
  std::optional<v1::Ended> ended;
  int signals_handled = 0;
  while (true) {
    if (const std::optional<v1::RunEvent> event = watcher.WaitUntil(clock.Now() + kPoll)) {
      display.Show(*event, clock.Now());
      if (event->has_ended()) ended = event->ended();
      continue;
    }
    if (signals_seen > signals_handled) {
      if (signals_seen > 1) return ended;
      signals_handled = signals_seen;
      display.Print("stopping after a checkpoint; again ends at once");
      // A coordinator that does not hear it is ended by the second signal.
      if (const Status status = watcher.Stop(); !status.ok()) display.Print(status.message());
    }
    const TimePoint now = clock.Now();
    if (coordinator.WaitUntil(watcher.done() ? now + kPoll : now).has_value() && watcher.done()) return ended;
  }
}

// Takes the folder of a new run away that was refused or stopped before it trained: nothing in it is worth a look, and
// it would stand in the way of the same --out.
bool DiscardUntrained(const PreparedRun& run, int exit_code) {
  const bool nobodys_failure = exit_code == kExitBadInput || exit_code == kExitInterrupted;
  if (!nobodys_failure || !run.checkpoint.empty() || HasCheckpoint(run.directory)) return false;
  const Result<RunDirectory> directory = RunDirectory::Open(run.directory);
  std::error_code error;
  if (!directory.ok() || (std::filesystem::file_size(directory->metrics(), error) > 0 && !error)) return false;
  directory->Discard();
  return true;
}

constexpr char kNothingToResume[] =
    "no checkpoint yet: nothing to resume from (checkpoint.intervalSeconds says how often one is saved)";

// What is said at the end, and the exit code.
int Conclude(const std::optional<v1::Ended>& ended, const PreparedRun& run, const std::string& fallback,
             bool interrupted) {
  const std::string& path = run.directory;
  // As it was called: `make run` does not put weft on anybody's path.
  const std::string resume = std::string("to go on: ") + program_invocation_name + " run --resume " + path +
                             (run.testbed.empty() ? "" : " --testbed " + run.testbed);
  if (!ended.has_value()) {
    if (interrupted) {
      ReportError("ended at once");
    } else {
      ReportError(fallback);
    }
    const bool discarded = interrupted && DiscardUntrained(run, kExitInterrupted);
    if (!discarded) std::printf("%s\n", HasCheckpoint(path) ? resume.c_str() : kNothingToResume);
    // The coordinator did not live to make it.
    if (const Status status = discarded ? OkStatus() : WriteReport(std::array{path}, path + "/report.html");
        !status.ok()) {
      ReportError("no report: " + status.message());
    }
    return interrupted ? kExitInterrupted : kExitFailure;
  }
  const int exit_code = ended->exit_code();
  if (exit_code == kExitFailure || exit_code == kExitBadInput) ReportError(ended->message());
  if (DiscardUntrained(run, exit_code)) {
    if (exit_code == kExitInterrupted) std::printf("stopped before it trained; nothing is left of it\n");
    return exit_code;
  }
  if (exit_code == kExitOk || exit_code == kExitInterrupted) {
    std::fputs(SummaryText(ended->summary_json()).c_str(), stdout);
    if (ended->summary_json().empty()) std::printf("stopped before it trained on; the run is as it was\n");
  }
  if (ended->resumable()) {
    std::printf("%s\n", resume.c_str());
  } else if (exit_code == kExitInterrupted) {
    std::printf("stopped before there was anything to save\n");
  } else if (exit_code == kExitFailure && !HasCheckpoint(path)) {
    std::printf("%s\n", kNothingToResume);
  }
  std::printf("run directory: %s\n", path.c_str());
  if (std::error_code error; std::filesystem::exists(path + "/report.html", error)) {
    std::printf("report: %s/report.html\n", path.c_str());
  }
  return exit_code;
}

Result<int> RunPrepared(const RunFlags& flags, const PreparedRun& run) {
  WEFT_ASSIGN_OR_RETURN(const std::string binaries, FolderOfThisProgram());
  std::error_code error;
  std::filesystem::create_directories(run.directory + "/logs", error);
  if (error) return ErrnoError("make " + run.directory + "/logs", error.value());
  WEFT_ASSIGN_OR_RETURN(const ScratchFolder scratch, ScratchFolder::Make(TemporaryParent()));
  WEFT_ASSIGN_OR_RETURN(const ScratchFolder segments, ScratchFolder::Make(SegmentParent()));
  std::filesystem::create_directory(scratch.path() + "/ranks", error);
  if (error) return ErrnoError("make " + scratch.path() + "/ranks", error.value());

  WEFT_RETURN_IF_ERROR(BecomeSubreaper());
  WEFT_ASSIGN_OR_RETURN(Process coordinator,
                        Process::Start(CoordinatorCommand(flags, run, binaries, scratch.path(), segments.path())));
  RunDisplay display;
  std::optional<v1::Ended> ended;
  std::string fallback;
  {
    Result<std::unique_ptr<RunWatcher>> watcher =
        RunWatcher::Connect("unix:" + scratch.path() + "/c", Clock::Steady().Now() + kAnswerTime);
    if (watcher.ok()) {
      ended = Follow(coordinator, **watcher, display);
    } else {
      fallback = watcher.status().message();
    }
  }
  display.ClearLive();
  const bool at_once = signals_seen > 1 && !ended.has_value();
  if (const auto exit = coordinator.WaitUntil(Clock::Steady().Now())) fallback = "the coordinator " + exit->ToString();
  // Nothing is left when the coordinator ended in good order; else this ends the ranks.
  if (const Status status = EndDescendants(at_once ? Duration{} : kTermGrace, Clock::Steady().Now() + kEndTime);
      !status.ok()) {
    ReportError(status.message());
  }
  // A coordinator that was killed has left them.
  if (!run.targets_file.empty()) std::filesystem::remove(run.targets_file, error);
  std::filesystem::remove(run.directory + "/coordinator", error);
  return Conclude(ended, run, fallback + "; see " + run.directory + "/logs", at_once);
}

int Run(const RunFlags& flags) {
  if (flags.resume.empty() == flags.job.path.empty()) {
    ReportError(flags.resume.empty() ? "run: FILE is missing" : "run: FILE and --resume exclude each other");
    return kExitBadInput;
  }
  if (!flags.resume.empty() && (!flags.job.overrides.empty() || !flags.plan.empty() || !flags.out.empty())) {
    ReportError("run: --resume goes on with the job as it was: no --set, --plan or --out");
    return kExitBadInput;
  }
  std::signal(SIGPIPE, SIG_IGN);
  struct sigaction action = {};
  action.sa_handler = CountSignal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);

  if (!flags.prometheus_targets.empty()) {
    std::error_code error;
    std::filesystem::create_directories(flags.prometheus_targets, error);
    if (error) return ReportStatus(ErrnoError("make " + flags.prometheus_targets, error.value()));
  }
  if (!flags.testbed.empty()) {
    if (const Result<Testbed> testbed = LoadTestbed(flags.testbed); !testbed.ok())
      return ReportStatus(testbed.status());
  }
  Result<PreparedRun> run = PreparedRun{};
  if (flags.resume.empty()) {
    const std::optional<ParsedJob> job = LoadJobFile(flags.job);
    if (!job.has_value()) return kExitBadInput;
    if (const std::string line = UnusedLine(flags.job.path, job->spec); !line.empty())
      std::printf("%s\n", line.c_str());
    run = PrepareNew(flags, *job);
  } else {
    run = PrepareResume(flags.resume);
  }
  if (!run.ok()) return ReportStatus(run.status());
  if (!flags.prometheus_targets.empty()) run->targets_file = TargetsFile(flags.prometheus_targets, run->directory);
  run->testbed = flags.testbed;
  const Result<int> exit_code = RunPrepared(flags, *run);
  return exit_code.ok() ? *exit_code : ReportStatus(exit_code.status());
}

}  // namespace

void AddRunCommand(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("run", "Train a job on this machine");
  auto flags = std::make_shared<RunFlags>();
  AddJobFileOptions(*command, &flags->job);
  command->get_option("FILE")->required(false);
  command->add_option("--out", flags->out, "The run directory; default: a new one under output.path")
      ->option_text("DIR");
  command
      ->add_option("--plan", flags->plan,
                   "Follow this plan, or the plans/ of a run, each from its iteration on; nothing is measured")
      ->option_text("PATH");
  command->add_option("--resume", flags->resume, "Go on in this run directory from its newest checkpoint")
      ->option_text("DIR");
  command->add_option("--testbed", flags->testbed, "Run on the hosts of this test-bed: rank r on host r")
      ->option_text("NAME");
  command
      ->add_option("--metrics-port", flags->metrics_port,
                   "Prometheus metrics: the coordinator at P, rank r at P+1+r; 0: free ports")
      ->option_text("P")
      ->check(CLI::Range(0, 65535));
  command
      ->add_option("--prometheus-targets", flags->prometheus_targets,
                   "Tell a Prometheus that watches DIR/*.json of this run while it goes on")
      ->option_text("DIR");
  command
      ->add_option("--inject-rate-file", flags->inject_rate_file,
                   "Each process sends no faster than the megabits a second in FILE, which may change during the run")
      ->option_text("FILE")
      ->check(CLI::ExistingFile);
  command->add_option("--inject-delay-us", flags->inject_delay_us, "Delay each message by a random time up to this")
      ->option_text("N")
      ->check(CLI::Range(0, 10'000'000));
  command->callback([flags, exit_code] { *exit_code = Run(*flags); });
}

}  // namespace weft
