// `weft-coordinator`: one a job. `weft run` starts it; it launches the ranks, and tells how the run goes at its socket.
#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/cpu.h"
#include "common/job/parse.h"
#include "common/log.h"
#include "common/metrics/exporter.h"
#include "common/rundir/atomic_file.h"
#include "common/testbed/testbed.h"
#include "coordinator/launch/limits.h"
#include "coordinator/launch/process.h"
#include "coordinator/launch/rank_log.h"
#include "coordinator/launch/ranks.h"
#include "coordinator/service/coordinator.h"
#include "coordinator/service/plan_files.h"

namespace weft {
namespace {

constexpr std::size_t kMaxJobBytes = 4u << 20;
constexpr std::size_t kMaxExplanationBytes = 1u << 20;
constexpr std::size_t kMaxTestbedBytes = 1u << 20;
constexpr Duration kPoll = std::chrono::milliseconds(20);
// After a signal: long enough for a checkpoint, short enough for whoever kills next.
constexpr Duration kSignalGrace = std::chrono::seconds(6);
constexpr Duration kTermGrace = std::chrono::seconds(1);
constexpr Duration kEndTime = std::chrono::seconds(4);

volatile std::sig_atomic_t signals_seen = 0;
void CountSignal(int /*signal*/) { signals_seen = signals_seen + 1; }

struct Flags {
  std::string job_file;
  std::string run_directory;
  std::string command;
  std::string socket;
  std::string agent;
  std::string temporary_directory;
  std::string segment_directory;
  std::string testbed;  // its file; empty: all ranks on this machine
  std::string plan_file;
  std::string checkpoint;
  std::int64_t start_iteration = 0;
  std::vector<std::int64_t> worker_iterations;
  int metrics_port = 0;
  std::string prometheus_targets;
  int inject_delay_us = 0;
  std::string inject_rate_file;
};

struct Parts {
  std::unique_ptr<MetricsExporter> exporter;
  std::unique_ptr<CoordinatorMetrics> metrics;
  std::unique_ptr<Coordinator> coordinator;
  std::optional<Process> ranks;
};

RankTransport TransportOf(TransportType transport) {
  switch (transport) {
    case TransportType::kAuto:
      return RankTransport::kSharedMemory;
    case TransportType::kTCP:
      return RankTransport::kTcp;
    case TransportType::kRDMA:
      return RankTransport::kRdma;
  }
  return RankTransport::kSharedMemory;
}

// INVALID_ARGUMENT: a network that this machine does not have, which Open MPI would tell with a page of its own.
Status CheckNetwork(const NetworkSpec& network) {
  std::error_code error;
  constexpr const char* kDevices = "/sys/class/infiniband";
  const bool has_rdma = std::filesystem::exists(kDevices, error) && !std::filesystem::is_empty(kDevices, error);
  if (network.transport == TransportType::kRDMA && !has_rdma) {
    return InvalidArgumentError("network.transport: RDMA needs an RDMA device, and /sys/class/infiniband has none");
  }
  // An address range, not a name, has a '/'.
  const std::string& name = network.interface;
  if (!name.empty() && name.find('/') == std::string::npos &&
      !std::filesystem::exists("/sys/class/net/" + name, error)) {
    return InvalidArgumentError("network.interface: this machine has no interface " + name);
  }
  return OkStatus();
}

// What the ranks' log tells since this process has started them, and the limit that may be behind it.
std::function<std::string(const std::string&, bool)> ExplainerFor(const RankLaunch& launch) {
  const std::string log_path = launch.log_path;
  std::error_code none;
  const std::uintmax_t size = std::filesystem::file_size(log_path, none);  // of a run that goes on
  const std::uintmax_t begin = none ? 0 : size;
  return [log_path, begin, hosts = launch.hosts, workers = launch.workers](const std::string& cause, bool registered) {
    std::ifstream file(log_path, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(begin));
    std::string log(kMaxExplanationBytes, '\0');
    file.read(log.data(), static_cast<std::streamsize>(log.size()));
    log.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    if (std::string lost = DescribeLostHost(log, hosts, workers); !lost.empty()) return lost;
    const std::string line = TellingLine(log, /*own_lines=*/!registered);
    const std::string limit = DescribeMemoryLimit();
    return cause + (line.empty() ? "" : "; the ranks' log has: " + line) + (limit.empty() ? "" : "; " + limit);
  };
}

// Rank r goes to the r-th host, and messages over the test-bed's links.
Status PlaceOnTestbed(const Testbed& testbed, const Flags& flags, const JobSpec& job, int port, RankLaunch* launch) {
  const int ranks = job.worker.replicas + job.server.replicas;
  WEFT_RETURN_IF_ERROR(CheckRanksFit(testbed, ranks));
  if (job.network.transport == TransportType::kRDMA || !job.network.interface.empty()) {
    return InvalidArgumentError("network: a test-bed has TCP over its own links only");
  }
  for (int rank = 0; rank < ranks; ++rank) {
    launch->hosts.push_back(testbed.hosts[static_cast<std::size_t>(rank)].address);
  }
  launch->coordinator_address = "ipv4:" + testbed.control.address + ":" + std::to_string(port);
  launch->transport = RankTransport::kTcp;
  launch->interface = kTestbedInterface;
  launch->testbed_path = flags.testbed;
  const char* path = std::getenv("PATH");
  launch->search_path = std::filesystem::path(flags.agent).parent_path().string() + (path == nullptr ? "" : ":") +
                        (path == nullptr ? "" : path);
  return OkStatus();
}

RankLaunch LaunchFor(const Flags& flags, const JobSpec& job, std::uint64_t generation) {
  RankLaunch launch;
  launch.agent_path = flags.agent;
  launch.coordinator_address = "unix:" + flags.socket;
  launch.generation = generation;
  launch.job = job.name;
  launch.workers = job.worker.replicas;
  launch.servers = job.server.replicas;
  launch.transport = TransportOf(job.network.transport);
  launch.interface = job.network.interface;
  launch.metrics_port = flags.metrics_port;
  launch.peer_timeout_seconds = job.network.peer_timeout_seconds;
  launch.inject_delay_us = flags.inject_delay_us;
  launch.inject_seed = job.training.seed;
  launch.inject_rate_file = flags.inject_rate_file;
  launch.temporary_directory = flags.temporary_directory;
  launch.segment_directory = flags.segment_directory;
  launch.log_path = flags.run_directory + "/logs/ranks.log";
  return launch;
}

std::string AddressFile(const Flags& flags) { return flags.run_directory + "/coordinator"; }

Status Start(const Flags& flags, const std::optional<Testbed>& testbed, AttendService& service, Parts* parts) {
  WEFT_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(flags.job_file, kMaxJobBytes));
  ParsedJob job = ParseJob(text);
  if (!job.ok()) return ToStatus(job.errors);

  CoordinatorOptions options;
  options.job_text = text;
  options.run_directory = flags.run_directory;
  options.command = flags.command;
  options.started = std::chrono::system_clock::now();
  options.checkpoint = flags.checkpoint;
  options.start_iteration = flags.start_iteration;
  options.worker_iterations = flags.worker_iterations;
  if (!flags.plan_file.empty()) {
    WEFT_ASSIGN_OR_RETURN(options.plans, ReadPlans(flags.plan_file, flags.start_iteration, job.spec));
  }

  RankLaunch launch = LaunchFor(flags, job.spec, options.generation);
  if (testbed.has_value()) {
    WEFT_RETURN_IF_ERROR(PlaceOnTestbed(*testbed, flags, job.spec, service.port(), &launch));
  } else {
    WEFT_RETURN_IF_ERROR(CheckNetwork(job.spec.network));
  }
  WEFT_RETURN_IF_ERROR(
      PrepareLimits(launch.workers + launch.servers, launch.transport == RankTransport::kSharedMemory));
  options.hosts = launch.hosts;
  const std::string metrics_host = testbed.has_value() ? testbed->control.address : "127.0.0.1";
  options.explain = ExplainerFor(launch);
  parts->metrics = std::make_unique<CoordinatorMetrics>(job.spec.name);
  WEFT_ASSIGN_OR_RETURN(parts->exporter,
                        MetricsExporter::Start(parts->metrics->registry(), metrics_host, flags.metrics_port));
  options.metrics_address = metrics_host + ":" + std::to_string(parts->exporter->port());
  options.prometheus_targets = flags.prometheus_targets;
  options.job = std::move(job.spec);
  // For who wants to watch.
  WEFT_RETURN_IF_ERROR(WriteFileAtomically(AddressFile(flags), "unix:" + flags.socket + "\n"));
  WEFT_ASSIGN_OR_RETURN(parts->coordinator,
                        Coordinator::Make(std::move(options), service, *parts->metrics, Clock::Steady()));
  parts->coordinator->Tell("metrics of the coordinator at http://" + metrics_host + ":" +
                           std::to_string(parts->exporter->port()) + "/metrics");
  parts->coordinator->Tell("to watch it in a terminal: weft top " + flags.run_directory);
  Result<Process> ranks = Process::Start(MakeRankCommand(launch));
  if (!ranks.ok()) return ranks.status();
  parts->ranks.emplace(std::move(ranks).value());
  return OkStatus();
}

// Until the run has ended, or a signal leaves no more time.
void Drive(Parts& parts) {
  Clock& clock = Clock::Steady();
  bool launcher_ended = false;
  int signals_handled = 0;
  TimePoint give_up = TimePoint::max();
  while (!parts.coordinator->ended() && clock.Now() < give_up) {
    if (!launcher_ended) {
      if (const std::optional<ProcessExit> exit = parts.ranks->WaitUntil(clock.Now())) {
        launcher_ended = true;
        parts.coordinator->OnLauncherEnded("mpirun " + exit->ToString(), exit->signal != 0);
      }
    }
    if (signals_seen > signals_handled) {
      signals_handled = signals_seen;
      give_up = std::min(give_up, clock.Now() + kSignalGrace);
      parts.coordinator->AskStop();
    }
    parts.coordinator->Pump(clock.Now() + kPoll);
  }
  if (!parts.coordinator->ended()) parts.coordinator->GiveUp("stopped without a checkpoint: there was no time for one");
}

// This process, and mpirun below it, move to the control host. Before any other thread is there.
Result<Testbed> EnterTestbed(const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMaxTestbedBytes));
  Result<Testbed> testbed = ParseTestbed(text);
  if (!testbed.ok()) return testbed.status().WithContext(path);
  WEFT_RETURN_IF_ERROR(EnterTestbedHost(testbed->control, /*own_host_name=*/false));
  return testbed;
}

void RemoveFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) LogWarning("temporary files are left", {{"folder", path}, {"cause", error.message()}});
}

int Run(const Flags& flags) {
  struct sigaction action = {};
  action.sa_handler = CountSignal;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaction(signal, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  const auto refuse = [](const Status& status) {
    LogError("the coordinator can't start", {{"cause", status.message()}});
    return 1;
  };
  if (const Status status = BecomeSubreaper(); !status.ok()) return refuse(status);
  std::optional<Testbed> testbed;
  if (!flags.testbed.empty()) {
    Result<Testbed> entered = EnterTestbed(flags.testbed);
    if (!entered.ok()) return refuse(entered.status());
    testbed = std::move(entered).value();
  }
  Result<std::unique_ptr<AttendService>> service =
      AttendService::Start("unix:" + flags.socket, testbed.has_value() ? testbed->control.address : "");
  if (!service.ok()) return refuse(service.status());

  Parts parts;
  if (const Status status = Start(flags, testbed, **service, &parts); !status.ok()) {
    LogError("the run can't start", {{"cause", status.message()}});
    RemoveFolder(AddressFile(flags));
    return TellRefusal(**service, status, flags.run_directory);
  }
  Drive(parts);
  if (const Status status = EndDescendants(kTermGrace, Clock::Steady().Now() + kEndTime); !status.ok()) {
    LogError("ranks are left", {{"cause", status.message()}});
  }
  for (const std::string& folder : {flags.temporary_directory, flags.segment_directory}) RemoveFolder(folder);
  RemoveFolder(AddressFile(flags));
  const int exit_code = parts.coordinator->Finish();
  // Where the parent was killed, nobody else removes the socket.
  RemoveFolder(std::filesystem::path(flags.socket).parent_path());
  // The exporter's web server takes two seconds to end its threads, and everything is saved.
  std::fflush(nullptr);
  std::_Exit(exit_code);
}

int Main(int argc, const char* const* argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is an error of the write, not a death without a word
  InitializeLog("coordinator", LogLevel::kInfo);
  if (const Status status = CheckProcessor(); !status.ok()) {
    LogError(status.message());
    return 1;
  }
  Flags flags;
  CLI::App app("Coordinates one training job. Started by `weft run`.", "weft-coordinator");
  app.add_option("--job-file", flags.job_file, "The TrainingJob as it is run")->required();
  app.add_option("--run-directory", flags.run_directory, "Where the run's files go")->required();
  app.add_option("--socket", flags.socket, "UNIX socket to serve at; its folder is removed at the end")->required();
  app.add_option("--agent", flags.agent, "The weft-agent binary")->required();
  app.add_option("--temporary-directory", flags.temporary_directory, "For the ranks' files; removed at the end")
      ->required();
  app.add_option("--segment-directory", flags.segment_directory, "For shared memory; removed at the end")->required();
  app.add_option("--testbed", flags.testbed, "A test-bed's file: run there, not on this machine");
  app.add_option("--plan", flags.plan_file, "A plan, or a folder of a run's; nothing is measured");
  app.add_option("--command", flags.command, "What was typed, for summary.json");
  app.add_option("--checkpoint", flags.checkpoint, "Go on from this checkpoint");
  app.add_option("--start-iteration", flags.start_iteration, "The checkpoint's iteration");
  app.add_option("--worker-iterations", flags.worker_iterations, "By worker, where each has its own; else left out")
      ->delimiter(',');
  app.add_option("--metrics-port", flags.metrics_port, "Base of the metrics' ports; 0: free ones");
  app.add_option("--prometheus-targets", flags.prometheus_targets,
                 "File for Prometheus's discovery, there while the run is");
  app.add_option("--inject-rate-file", flags.inject_rate_file, "Ranks send no faster than the Mb/s in this file");
  app.add_option("--inject-delay-us", flags.inject_delay_us, "Delay messages by up to so much");
  CLI11_PARSE(app, argc, argv);
  return Run(flags);
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) { return weft::Main(argc, argv); }
