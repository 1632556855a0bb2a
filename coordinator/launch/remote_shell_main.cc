// `weft-remote-shell HOST orted …`: what mpirun calls instead of ssh to start its daemon on a test-bed's host. It moves
// into the host's network and host name, and becomes the daemon. The daemon dies with mpirun.
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/rundir/atomic_file.h"
#include "common/testbed/testbed.h"
#include "coordinator/launch/remote_shell.h"

namespace weft {
namespace {

constexpr std::size_t kMaxTestbedBytes = 1u << 20;

Result<TestbedHost> HostAt(const std::string& address) {
  const char* path = std::getenv(kRemoteShellTestbed);
  if (path == nullptr)
    return InvalidArgumentError(std::string(kRemoteShellTestbed) + " does not name a test-bed's file");
  WEFT_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMaxTestbedBytes));
  WEFT_ASSIGN_OR_RETURN(const Testbed testbed, ParseTestbed(text));
  const auto host = std::find_if(testbed.hosts.begin(), testbed.hosts.end(),
                                 [&](const TestbedHost& each) { return each.address == address; });
  if (host == testbed.hosts.end()) return NotFoundError("test-bed " + testbed.name + " has no host " + address);
  return *host;
}

// Each daemon keeps its files apart: with shared ones hosts of one machine crash in each other's.
Status TakeFolder(const TestbedHost& host) {
  const char* parent = std::getenv("TMPDIR");
  const std::string folder = std::string(parent == nullptr ? "/tmp" : parent) + "/" + host.host_name;
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return ErrnoError("make " + folder, errno);
  setenv("TMPDIR", folder.c_str(), 1);
  setenv("HOME", folder.c_str(), 1);
  return OkStatus();
}

// Returns only when it fails.
Status Become(const std::vector<std::string>& words) {
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) return CancelledError("mpirun is gone");
  WEFT_ASSIGN_OR_RETURN(RemoteCommand command, ParseRemoteCommand(words));
  WEFT_ASSIGN_OR_RETURN(const TestbedHost host, HostAt(command.address));
  WEFT_RETURN_IF_ERROR(TakeFolder(host));
  WEFT_RETURN_IF_ERROR(EnterTestbedHost(host, /*own_host_name=*/true));
  std::vector<char*> arguments;
  for (std::string& argument : command.arguments) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return ErrnoError("start " + command.arguments.front(), errno);
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  const weft::Status status = weft::Become({argv + 1, argv + std::max(argc, 1)});
  std::fprintf(stderr, "%s: %s\n", weft::kRemoteShellName, status.message().c_str());
  return 1;
}
