#include "coordinator/launch/ranks.h"

#include <csignal>
#include <string>
#include <type_traits>
#include <vector>

#include "coordinator/launch/remote_shell.h"

namespace weft {
namespace {

// `mpirun`'s words for one rank on each of these hosts: "10.0.0.1:1,10.0.0.2:1".
std::string HostList(const std::vector<std::string>& hosts) {
  std::string list;
  for (const std::string& host : hosts) list += (list.empty() ? "" : ",") + host + ":1";
  return list;
}

}  // namespace

Command MakeRankCommand(const RankLaunch& launch) {
  Command command;
  std::vector<std::string>& arguments = command.arguments;
  const auto setting = [&](const std::string& name, const std::string& value) {
    arguments.insert(arguments.end(), {"--mca", name, value});
  };
  const auto flag = [&](const std::string& name, const auto& value) {
    arguments.push_back(name);
    if constexpr (std::is_integral_v<std::decay_t<decltype(value)>>) {
      arguments.push_back(std::to_string(value));
    } else {
      arguments.push_back(value);
    }
  };
  arguments = {"mpirun", "--oversubscribe"};
  flag("--bind-to", "none");
  if (launch.hosts.empty()) {
    // No remote shell is needed on one machine, and mpirun without one would refuse to start.
    setting("plm", "isolated");
  } else {
    flag("--host", HostList(launch.hosts));
    setting("plm_rsh_agent", kRemoteShellName);
    // mpirun starts all daemons itself, at once, and stays connected to them: else they would detach, and start others.
    setting("plm_rsh_no_tree_spawn", "1");
    setting("plm_rsh_num_concurrent", std::to_string(launch.hosts.size() + 1));
    setting("orte_leave_session_attached", "1");
    setting("oob_tcp_if_include", launch.interface);
    // A host that is cut off is noticed after 2 + 3 * 1 s.
    setting("oob_tcp_keepalive_time", "2");
    setting("oob_tcp_keepalive_intvl", "1");
    setting("oob_tcp_keepalive_probes", "3");
  }
  switch (launch.transport) {
    case RankTransport::kSharedMemory:
      setting("pml", "ob1");
      setting("btl", "vader,self");
      // Copies from another process's memory are refused in many containers.
      setting("btl_vader_single_copy_mechanism", "none");
      setting("btl_vader_backing_directory", launch.segment_directory);
      break;
    case RankTransport::kTcp:
      setting("pml", "ob1");
      setting("btl", "tcp,self");
      setting("btl_tcp_if_include", launch.interface.empty() ? "lo" : launch.interface);
      // Without "put", which makes of a message one fragment, however large: the receiver's go-ahead for the other
      // direction would wait behind it, and links would carry one direction at a time.
      setting("btl_tcp_flags", "send,inplace");
      // One-sided calls through shared memory would not be the network's.
      setting("osc", "^sm");
      break;
    case RankTransport::kRdma:
      setting("pml", "ucx");
      setting("osc", "ucx");
      break;
  }
  setting("mpi_yield_when_idle", "1");
  flag("-np", launch.workers + launch.servers);
  arguments.push_back(launch.agent_path);
  flag("--coordinator", launch.coordinator_address);
  flag("--generation", launch.generation);
  flag("--job", launch.job);
  flag("--workers", launch.workers);
  flag("--servers", launch.servers);
  flag("--peer-timeout-seconds", launch.peer_timeout_seconds);
  if (launch.transport != RankTransport::kSharedMemory) arguments.push_back("--no-shared-memory");
  if (!launch.hosts.empty()) flag("--metrics-host", std::string("0.0.0.0"));
  if (launch.metrics_port > 0) flag("--metrics-port", launch.metrics_port);
  if (launch.inject_delay_us > 0) {
    flag("--inject-delay-us", launch.inject_delay_us);
    flag("--inject-seed", launch.inject_seed);
  }
  if (!launch.inject_rate_file.empty()) flag("--inject-rate-file", launch.inject_rate_file);
  command.environment = {
      {"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
      {"PMIX_MCA_gds", "hash"},        {"TMPDIR", launch.temporary_directory},
      {"OMP_NUM_THREADS", "1"},
  };
  if (!launch.hosts.empty()) {
    command.environment["PATH"] = launch.search_path;
    command.environment["SHELL"] = "/bin/bash";  // for others mpirun wraps the command line
    command.environment[kRemoteShellTestbed] = launch.testbed_path;
  }
  command.output_path = launch.log_path;
  command.new_session = true;
  // Its ranks end within moments, and whoever outlives this process removes its files.
  command.death_signal = SIGKILL;
  return command;
}

}  // namespace weft
