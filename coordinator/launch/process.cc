#include "coordinator/launch/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

extern char** environ;

namespace weft {
namespace {

ProcessExit FromWaitStatus(int status) {
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status)};
}

std::vector<std::string> MergedEnvironment(const std::map<std::string, std::string>& extra) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    if (!extra.contains(text.substr(0, text.find('=')))) merged.push_back(text);
  }
  for (const auto& [name, value] : extra) {
    std::string& entry = merged.emplace_back(name);
    entry += '=';
    entry += value;
  }
  return merged;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Parent of each process. The command's name may hold spaces and brackets: the fields count from the last ')'.
std::map<pid_t, pid_t> Parents() {
  std::map<pid_t, pid_t> parents;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ostringstream text;
    text << std::ifstream(entry.path() / "stat").rdbuf();
    const std::string stat = text.str();
    const std::size_t end = stat.rfind(')');
    if (end == std::string::npos) continue;
    std::istringstream fields(stat.substr(end + 1));
    char state = 0;
    pid_t parent = 0;
    if (fields >> state >> parent) parents[static_cast<pid_t>(std::stol(name))] = parent;
  }
  return parents;
}

std::set<pid_t> Descendants() {
  const std::map<pid_t, pid_t> parents = Parents();
  std::set<pid_t> found = {getpid()};
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& [pid, parent] : parents) {
      if (found.contains(parent) && found.insert(pid).second) grew = true;
    }
  }
  found.erase(getpid());
  return found;
}

void Reap() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

// In the child, between fork and exec: only async-signal-safe calls.
[[noreturn]] void Execute(const Command& command, char* const* arguments, char* const* environment, pid_t parent,
                          int output, int error_pipe) {
  prctl(PR_SET_PDEATHSIG, command.death_signal);
  if (getppid() != parent) _exit(127);  // it died before the line above
  if (command.new_session) {
    setsid();
  } else {
    setpgid(0, 0);
  }
  for (int signal = 1; signal < NSIG; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) std::signal(signal, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (output >= 0) {
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0) dup2(null, STDIN_FILENO);
  }
  execvpe(arguments[0], arguments, environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(error_pipe, &error, sizeof(error));
  _exit(127);
}

}  // namespace

std::string ProcessExit::ToString() const {
  std::string text = signal != 0 ? "was killed by signal " : "ended with exit code ";
  text += std::to_string(signal != 0 ? signal : code);
  return text;
}

Result<Process> Process::Start(const Command& command) {
  WEFT_CHECK(!command.arguments.empty()) << "a command needs a program";
  int output = -1;
  if (!command.output_path.empty()) {
    output = open(command.output_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (output < 0) return ErrnoError("open " + command.output_path, errno);
  }
  std::vector<std::string> argument_texts = command.arguments;
  std::vector<std::string> environment_texts = MergedEnvironment(command.environment);
  const std::vector<char*> arguments = Pointers(argument_texts);
  const std::vector<char*> environment = Pointers(environment_texts);
  int error_pipe[2];
  if (pipe2(error_pipe, O_CLOEXEC) != 0) {
    const Status status = ErrnoError("pipe", errno);
    if (output >= 0) close(output);
    return status;
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) Execute(command, arguments.data(), environment.data(), parent, output, error_pipe[1]);
  const int fork_error = errno;
  if (output >= 0) close(output);
  close(error_pipe[1]);
  int exec_error = 0;
  // Closed without a word by a successful exec.
  const bool failed = pid > 0 && TEMP_FAILURE_RETRY(read(error_pipe[0], &exec_error, sizeof(exec_error))) ==
                                     static_cast<ssize_t>(sizeof(exec_error));
  close(error_pipe[0]);
  if (pid < 0) return ErrnoError("fork", fork_error);
  if (failed) {
    waitpid(pid, nullptr, 0);
    return ErrnoError("start " + command.arguments.front(), exec_error);
  }
  const int pid_fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (pid_fd < 0) {
    const Status status = ErrnoError("pidfd_open", errno);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return status;
  }
  fcntl(pid_fd, F_SETFD, FD_CLOEXEC);
  return Process(pid, pid_fd);
}

Process::Process(Process&& other) noexcept
    : pid_(other.pid_), pid_fd_(std::exchange(other.pid_fd_, -1)), exit_(other.exit_) {}

Process::~Process() {
  if (pid_fd_ >= 0) close(pid_fd_);
}

std::optional<ProcessExit> Process::WaitUntil(TimePoint deadline) {
  while (!exit_.has_value()) {
    int status = 0;
    const pid_t reaped = waitpid(pid_, &status, WNOHANG);
    if (reaped == pid_) {
      exit_ = FromWaitStatus(status);
      break;
    }
    if (reaped < 0 && errno == ECHILD) {
      exit_ = ProcessExit{.code = 127};  // EndDescendants has reaped it
      break;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::Steady().Now());
    if (left.count() <= 0) return std::nullopt;
    pollfd wait = {.fd = pid_fd_, .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 1000))) < 0 && errno == EINTR &&
        Clock::Steady().Now() < deadline) {
      return std::nullopt;  // a signal came: the caller looks at what it means
    }
  }
  return exit_;
}

void Process::Signal(int signal) const {
  if (!exit_.has_value()) kill(pid_, signal);
}

Status BecomeSubreaper() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return ErrnoError("become the parent of orphans", errno);
  return OkStatus();
}

Status EndDescendants(Duration grace, TimePoint deadline) {
  const TimePoint kill_time = Clock::Steady().Now() + grace;
  std::set<pid_t> told;
  while (true) {
    Reap();
    const std::set<pid_t> left = Descendants();
    if (left.empty()) return OkStatus();
    const TimePoint now = Clock::Steady().Now();
    if (now >= deadline) {
      std::string pids;
      for (const pid_t pid : left) {
        pids += ' ';
        pids += std::to_string(pid);
      }
      return DeadlineExceededError("processes do not end:" + pids);
    }
    for (const pid_t pid : left) {
      if (now >= kill_time) {
        kill(pid, SIGKILL);
      } else if (told.insert(pid).second) {
        kill(pid, SIGTERM);
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace weft
