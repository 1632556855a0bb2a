// weft-agent: one rank of a run, started by mpirun. Its flags come from the coordinator's launcher, not from people.
#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include "agent/train/agent.h"
#include "agent/transport/fault.h"
#include "agent/transport/mpi/mpi_transport.h"
#include "common/clock.h"
#include "common/cpu.h"
#include "common/log.h"
#include "common/mutex.h"

namespace {

int ReportFailure(const char* message, const weft::Status& status) {
  weft::LogError(message, {{"cause", status.message()}});
  return 1;
}

// The rate that the file tells, in bytes a second, read anew now and then since it may change; null without a file.
std::function<double()> RateIn(const std::string& path) {
  if (path.empty()) return nullptr;
  constexpr double kBytesPerMegabit = 1e6 / 8;
  struct State {
    weft::Mutex mutex;
    weft::TimePoint read{};
    double bytes_per_second = 0;
  };
  return [path, state = std::make_shared<State>()] {
    const weft::MutexLock lock(state->mutex);
    const weft::TimePoint now = weft::Clock::Steady().Now();
    if (now - state->read > std::chrono::milliseconds(50)) {
      state->read = now;
      double megabits = 0;
      if (std::ifstream(path) >> megabits) state->bytes_per_second = megabits * kBytesPerMegabit;
    }
    return state->bytes_per_second;
  };
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is an error of the write, not a death without a word
  if (const weft::Status status = weft::CheckProcessor(); !status.ok()) return ReportFailure("cannot run here", status);
  CLI::App app("A rank of a Weft run; started by the coordinator");
  weft::AgentOptions options;
  int peer_timeout_seconds = 30;
  int inject_delay_us = 0;
  std::uint64_t inject_seed = 1;
  std::string inject_rate_file;
  bool no_shared_memory = false;
  app.add_option("--coordinator", options.coordinator, "Where the coordinator listens")->required();
  app.add_option("--job", options.job, "Name of the job")->required();
  app.add_option("--generation", options.generation, "Membership generation")->required();
  app.add_option("--workers", options.workers, "Ranks 0 to workers-1")->required();
  app.add_option("--servers", options.servers, "The ranks after them")->required();
  app.add_option("--metrics-port", options.metrics_port,
                 "The coordinator's port; rank r serves at P + 1 + r; 0: any free port");
  app.add_option("--metrics-host", options.metrics_host,
                 "IPv4 address to serve metrics at; 0.0.0.0: all of this host's");
  app.add_option("--peer-timeout-seconds", peer_timeout_seconds, "How long a peer may keep this rank waiting");
  app.add_option("--inject-delay-us", inject_delay_us, "Delay messages at random by up to so much");
  app.add_option("--inject-seed", inject_seed, "Seed of those delays");
  app.add_option("--inject-rate-file", inject_rate_file, "Send no faster than the megabits a second in this file");
  app.add_flag("--no-shared-memory", no_shared_memory, "Registers as between hosts");
  CLI11_PARSE(app, argc, argv);
  options.peer_timeout = std::chrono::seconds(peer_timeout_seconds);

  weft::Clock& clock = weft::Clock::Steady();
  weft::Result<std::unique_ptr<weft::MpiTransport>> mpi =
      weft::MpiTransport::Create({.share_memory = !no_shared_memory}, clock.Now() + options.peer_timeout);
  if (!mpi.ok()) weft::ExitWithoutFinalize(ReportFailure("MPI did not start", mpi.status()));
  const int rank = (*mpi)->rank();
  const bool worker = rank < options.workers;
  weft::InitializeLog((worker ? "worker-" : "server-") + std::to_string(worker ? rank : rank - options.workers),
                      weft::LogLevel::kInfo);

  int code = 0;
  if (inject_delay_us > 0 || !inject_rate_file.empty()) {
    weft::FaultTransport transport(**mpi, {.max_delay = std::chrono::microseconds(inject_delay_us),
                                           .seed = inject_seed + static_cast<std::uint64_t>(rank),
                                           .bytes_per_second = RateIn(inject_rate_file)});
    code = weft::RunAgent(options, transport, clock);
  } else {
    code = weft::RunAgent(options, **mpi, clock);
  }
  // Peers may be gone, and MPI_Finalize would wait for them.
  if (code != 0) weft::ExitWithoutFinalize(code);
  if (const weft::Status status = (*mpi)->Shutdown(clock.Now() + std::chrono::seconds(5)); !status.ok()) {
    weft::ExitWithoutFinalize(ReportFailure("MPI did not end", status));
  }
  return 0;
}
