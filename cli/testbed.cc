#include "cli/testbed.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "cli/testbed_network.h"
#include "common/rundir/atomic_file.h"
#include "coordinator/launch/process.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = 1u << 20;
constexpr Duration kToolTime = std::chrono::seconds(30);
constexpr Duration kKillTime = std::chrono::seconds(5);
constexpr Duration kPoll = std::chrono::milliseconds(10);
constexpr const char* kNamespaceFolder = "/run/netns";

// Held while test-beds are made, changed or removed; given back when the process ends, however it does.
class TestbedLock {
 public:
  static Result<TestbedLock> Take() {
    std::error_code error;
    fs::create_directories(kTestbedDirectory, error);
    if (error) return ErrnoError(std::string("make ") + kTestbedDirectory, error.value());
    const std::string path = std::string(kTestbedDirectory) + "/lock";
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return ErrnoError("open " + path, errno);
    const TimePoint deadline = Clock::Steady().Now() + kToolTime;
    while (flock(file, LOCK_EX | LOCK_NB) != 0) {
      if (Clock::Steady().Now() >= deadline) {
        close(file);
        return DeadlineExceededError("another `weft testbed` has held " + path + " for 30 s");
      }
      Clock::Steady().SleepFor(kPoll);
    }
    return TestbedLock(file);
  }
  TestbedLock(TestbedLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  TestbedLock& operator=(TestbedLock&&) = delete;
  ~TestbedLock() {
    if (file_ >= 0) close(file_);
  }

 private:
  explicit TestbedLock(int file) : file_(file) {}
  int file_;
};

// Debian keeps ip and tc where not every user's PATH leads.
std::string SearchPath() {
  const char* path = std::getenv("PATH");
  return std::string(path == nullptr ? "/usr/bin:/bin" : path) + ":/usr/sbin:/sbin";
}

bool IsInstalled(const std::string& tool) {
  std::istringstream folders(SearchPath());
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((folder + "/" + tool).c_str(), X_OK) == 0) return true;
  }
  return false;
}

// What it printed. The first line of that is the error.
Result<std::string> RunTool(const ToolCommand& tool) {
  const int output = memfd_create("tool", 0);
  if (output < 0) return ErrnoError("memfd_create", errno);
  const std::string path = "/proc/self/fd/" + std::to_string(output);
  Command command{.arguments = tool, .environment = {{"PATH", SearchPath()}}, .output_path = path};
  std::optional<ProcessExit> exit;
  Status status;
  if (Result<Process> process = Process::Start(command); process.ok()) {
    exit = process->WaitUntil(Clock::Steady().Now() + kToolTime);
    if (!exit.has_value()) process->Signal(SIGKILL);
  } else {
    status = process.status();
  }
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  close(output);
  WEFT_RETURN_IF_ERROR(status);
  if (exit.has_value() && exit->ok()) return text.str();
  std::string line;
  for (const std::string& word : tool) line += (line.empty() ? "" : " ") + word;
  std::istringstream lines(text.str());
  std::string first;
  std::getline(lines, first);
  if (first.empty()) first = exit.has_value() ? exit->ToString() : "does not end";
  return InternalError("'" + line + "': " + first);
}

Status RunTools(const std::vector<ToolCommand>& tools) {
  for (const ToolCommand& tool : tools) {
    if (const Result<std::string> done = RunTool(tool); !done.ok()) return done.status();
  }
  return OkStatus();
}

// The bits of /proc/self/status' CapEff.
unsigned long long Capabilities() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("CapEff:")) return std::stoull(line.substr(7), nullptr, 16);
  }
  return 0;
}

// Runs `work` on a thread that has left for another network, or nowhere.
template <typename Work>
Status OnThreadOfItsOwn(Work work) {
  Status status;
  std::thread([&] { status = work(); }).join();
  return status;
}

// Tried in a network that is nobody's.
Status CheckNetem() {
  return OnThreadOfItsOwn([]() -> Status {
    if (unshare(CLONE_NEWNET) != 0) return ErrnoError("unshare", errno);
    if (RunTool({"tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"}).ok()) return OkStatus();
    return UnimplementedError(
        "latency: this kernel has no netem queue (its module sch_netem), so no latency can be added");
  });
}

// The machine's packet filter has no say in the bridge. Where it never had, there is no such file.
Status KeepFilterOut(const Testbed& testbed) {
  const TestbedHost bridge{.network_namespace =
                               std::string(kNamespaceFolder) + "/" + NamespaceName(testbed.name, kSwitchPart)};
  return OnThreadOfItsOwn([&]() -> Status {
    WEFT_RETURN_IF_ERROR(EnterTestbedHost(bridge, /*own_host_name=*/false));
    for (const char* name : {"iptables", "ip6tables", "arptables"}) {
      std::ofstream(std::string("/proc/sys/net/bridge/bridge-nf-call-") + name) << "0";
    }
    return OkStatus();
  });
}

// Much the same TCP on every machine, whatever its administrator has set: what a result tells of depends on it.
Status SetUpTcp(const TestbedHost& host) {
  return OnThreadOfItsOwn([&]() -> Status {
    WEFT_RETURN_IF_ERROR(EnterTestbedHost(host, /*own_host_name=*/false));
    const std::string folder = "/proc/sys/net/ipv4/";
    const auto write = [&](const std::string& name, const char* value) {
      std::ofstream file(folder + name);
      return static_cast<bool>(file << value << std::flush);
    };
    // Linux's usual one; where it is kept for the machine's own network, what it equals when round trips are short.
    const bool chosen = write("tcp_congestion_control", "cubic") || write("tcp_congestion_control", "reno");
    // What one run met says nothing to the next.
    if (chosen && write("tcp_no_metrics_save", "1")) return OkStatus();
    return InternalError("can't write to " + folder + " on host " + host.host_name);
  });
}

std::vector<TestbedHost> AllHosts(const Testbed& testbed) {
  std::vector<TestbedHost> hosts = testbed.hosts;
  hosts.push_back(testbed.control);
  return hosts;
}

// "weft.bed.3" gives "bed"; empty for a namespace that is no test-bed's.
std::string TestbedOfNamespace(const std::string& name) {
  const std::string prefix = "weft.";
  const std::size_t dot = name.rfind('.');
  return name.starts_with(prefix) && dot > prefix.size() ? name.substr(prefix.size(), dot - prefix.size()) : "";
}

// Also what is left of one whose file is gone.
std::vector<std::string> NamespacesOf(const std::string& testbed) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(kNamespaceFolder, error)) {
    const std::string name = entry.path().filename();
    if (TestbedOfNamespace(name) == testbed) found.push_back(name);
  }
  return found;
}

Result<int> FreeSubnet() {
  std::set<int> taken;
  for (const std::string& name : TestbedNames()) {
    if (const Result<Testbed> testbed = LoadTestbed(name); testbed.ok()) taken.insert(testbed->subnet);
  }
  for (int subnet = 0; subnet < kMaxTestbedSubnets; ++subnet) {
    if (!taken.contains(subnet)) return subnet;
  }
  return ResourceExhaustedError("all " + std::to_string(kMaxTestbedSubnets) + " subnets have a test-bed");
}

Status KillAllOn(const std::vector<std::string>& namespaces) {
  const TimePoint deadline = Clock::Steady().Now() + kKillTime;
  while (true) {
    std::vector<pid_t> left;
    for (const std::string& name : namespaces) {
      const TestbedHost host{.network_namespace = std::string(kNamespaceFolder) + "/" + name};
      for (const pid_t pid : ProcessesOn(host)) left.push_back(pid);
    }
    if (left.empty()) return OkStatus();
    if (Clock::Steady().Now() >= deadline) {
      return DeadlineExceededError("process " + std::to_string(left.front()) + " does not end");
    }
    for (const pid_t pid : left) kill(pid, SIGKILL);
    Clock::Steady().SleepFor(kPoll);
  }
}

// Under the lock.
Status Remove(const std::string& name) {
  const std::vector<std::string> namespaces = NamespacesOf(name);
  Status status = KillAllOn(namespaces);
  for (const std::string& each : namespaces) {
    const Result<std::string> removed = RunTool({"ip", "netns", "delete", each});
    if (status.ok()) status = removed.status();
  }
  if (status.ok() && unlink(TestbedPath(name).c_str()) != 0 && errno != ENOENT) {
    status = ErrnoError("remove " + TestbedPath(name), errno);
  }
  return status;
}

Status Make(const Testbed& testbed) {
  // First, so that whatever happens from now on is found.
  WEFT_RETURN_IF_ERROR(WriteFileAtomically(TestbedPath(testbed.name), TestbedToJson(testbed)));
  WEFT_RETURN_IF_ERROR(RunTools(UpCommands(testbed)));
  WEFT_RETURN_IF_ERROR(KeepFilterOut(testbed));
  for (const TestbedHost& host : AllHosts(testbed)) WEFT_RETURN_IF_ERROR(SetUpTcp(host));
  return OkStatus();
}

Status CheckHostNumber(const Testbed& testbed, int host) {
  if (host >= 0 && static_cast<std::size_t>(host) < testbed.hosts.size()) return OkStatus();
  return InvalidArgumentError("test-bed " + testbed.name + ": host " + std::to_string(host) + " is not one of 0 to " +
                              std::to_string(testbed.hosts.size() - 1));
}

}  // namespace

Status CheckTestbedPossible() {
  const auto missing = [](const std::string& what) { return FailedPreconditionError("a test-bed needs " + what); };
  for (const auto& [bit, name] :
       {std::pair(CAP_NET_ADMIN, "CAP_NET_ADMIN"), std::pair(CAP_SYS_ADMIN, "CAP_SYS_ADMIN")}) {
    if ((Capabilities() >> bit & 1) == 0) return missing(std::string("root: ") + name + " is missing");
  }
  for (const char* tool : {"ip", "tc"}) {
    if (!IsInstalled(tool)) return missing(std::string(tool) + ", from the Debian package iproute2");
  }
  return OnThreadOfItsOwn([&] {
    if (unshare(CLONE_NEWNET | CLONE_NEWUTS) == 0) return OkStatus();
    return missing(std::string("network namespaces: ") + ErrnoError("unshare", errno).message());
  });
}

Result<Testbed> BringUpTestbed(const TestbedRequest& request) {
  WEFT_RETURN_IF_ERROR(CheckTestbedName(request.name));
  WEFT_RETURN_IF_ERROR(CheckTestbedPossible());
  if (request.latency_us > 0) WEFT_RETURN_IF_ERROR(CheckNetem());
  WEFT_ASSIGN_OR_RETURN(const TestbedLock lock, TestbedLock::Take());
  const std::vector<std::string> names = TestbedNames();
  if (std::find(names.begin(), names.end(), request.name) != names.end()) {
    return AlreadyExistsError("test-bed " + request.name + " is there already; `weft testbed down " + request.name +
                              "` removes it");
  }
  WEFT_ASSIGN_OR_RETURN(const int subnet, FreeSubnet());
  Testbed testbed = MakeTestbed(request.name, subnet, request.bits_per_second);
  testbed.latency_us = request.latency_us;
  const Status status = Make(testbed);
  if (status.ok()) return testbed;
  if (const Status removed = Remove(testbed.name); !removed.ok()) {
    return Status(status.code(), status.message() + "; and then: " + removed.message());
  }
  return status;
}

Status TakeDownTestbed(const std::string& name) {
  WEFT_RETURN_IF_ERROR(CheckTestbedName(name));
  WEFT_RETURN_IF_ERROR(CheckTestbedPossible());
  WEFT_ASSIGN_OR_RETURN(const TestbedLock lock, TestbedLock::Take());
  const std::vector<std::string> names = TestbedNames();
  if (std::find(names.begin(), names.end(), name) == names.end()) return NotFoundError("there is no test-bed " + name);
  return Remove(name).WithContext("test-bed " + name);
}

Result<Testbed> LoadTestbed(const std::string& name) {
  WEFT_RETURN_IF_ERROR(CheckTestbedName(name));
  const Result<std::string> text = ReadSmallFile(TestbedPath(name), kMaxFileBytes);
  if (text.status().code() == StatusCode::kNotFound) {
    return NotFoundError("there is no test-bed " + name + "; `weft testbed up " + name + "` makes one");
  }
  WEFT_RETURN_IF_ERROR(text.status());
  Result<Testbed> testbed = ParseTestbed(*text);
  if (!testbed.ok()) return testbed.status().WithContext(TestbedPath(name));
  return testbed;
}

std::vector<std::string> TestbedNames() {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(kTestbedDirectory, error)) {
    if (entry.path().extension() == ".json") names.insert(entry.path().stem());
  }
  for (const auto& entry : fs::directory_iterator(kNamespaceFolder, error)) {
    if (const std::string name = TestbedOfNamespace(entry.path().filename()); !name.empty()) names.insert(name);
  }
  return {names.begin(), names.end()};
}

Result<TestbedHost> FindTestbedHost(const Testbed& testbed, const std::string& host) {
  if (host == kControlPart) return testbed.control;
  for (std::size_t i = 0; i < testbed.hosts.size(); ++i) {
    if (host == std::to_string(i)) return testbed.hosts[i];
  }
  return InvalidArgumentError("test-bed " + testbed.name + ": '" + host + "' is no host: 0 to " +
                              std::to_string(testbed.hosts.size() - 1) + ", or control");
}

Status SetTestbedRate(const std::string& name, int host, std::int64_t bits_per_second) {
  WEFT_RETURN_IF_ERROR(CheckTestbedPossible());
  WEFT_ASSIGN_OR_RETURN(const TestbedLock lock, TestbedLock::Take());
  WEFT_ASSIGN_OR_RETURN(Testbed testbed, LoadTestbed(name));
  WEFT_RETURN_IF_ERROR(CheckHostNumber(testbed, host));
  WEFT_RETURN_IF_ERROR(RunTools(RateCommands(testbed, host, bits_per_second)));
  testbed.hosts[static_cast<std::size_t>(host)].bits_per_second = bits_per_second;
  return WriteFileAtomically(TestbedPath(name), TestbedToJson(testbed));
}

Status CutTestbedHost(const std::string& name, int host, bool cut) {
  WEFT_RETURN_IF_ERROR(CheckTestbedPossible());
  WEFT_ASSIGN_OR_RETURN(const Testbed testbed, LoadTestbed(name));
  WEFT_RETURN_IF_ERROR(CheckHostNumber(testbed, host));
  return RunTools({CutCommand(testbed, host, cut)});
}

Result<bool> IsTestbedHostCut(const Testbed& testbed, int host) {
  WEFT_ASSIGN_OR_RETURN(const std::string text, RunTool(PortCommand(testbed, host)));
  return text.find(" state DOWN ") != std::string::npos;
}

std::vector<pid_t> ProcessesOn(const TestbedHost& host) {
  std::vector<pid_t> found;
  struct stat wanted = {};
  if (stat(host.network_namespace.c_str(), &wanted) != 0) return found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    struct stat own = {};
    if (stat((entry.path() / "ns/net").c_str(), &own) != 0) continue;
    if (own.st_ino == wanted.st_ino && own.st_dev == wanted.st_dev)
      found.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return found;
}

}  // namespace weft
