#include "tests/integration/running_weft.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace weft {
namespace {

constexpr Duration kPoll = std::chrono::milliseconds(10);

std::vector<std::string> SplitAtZeros(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, '\0');) parts.push_back(part);
  return parts;
}

// Zero for what is gone, or waits to be reaped.
pid_t ParentOf(pid_t pid) {
  const std::string stat = ReadWholeFile("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t end = stat.rfind(')');
  if (end == std::string::npos) return 0;
  std::istringstream fields(stat.substr(end + 1));
  char state = 0;
  pid_t parent = 0;
  fields >> state >> parent;
  return state == 'Z' ? 0 : parent;
}

}  // namespace

std::string ReadWholeFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

RunningWeft::RunningWeft(const std::vector<std::string>& arguments, const std::string& folder)
    : output_path_(folder + "/out") {
  std::filesystem::create_directories(folder + "/tmp");
  std::filesystem::remove(output_path_);
  Command command;
  command.arguments = {WEFT_BINARY};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  command.environment = {{"TMPDIR", folder + "/tmp"}};
  command.output_path = output_path_;
  Result<Process> process = Process::Start(command);
  EXPECT_TRUE(process.ok()) << process.status();
  process_.emplace(std::move(process).value());
}

RunningWeft::~RunningWeft() {
  for (const RunProcess& process : Processes()) kill(process.pid, SIGKILL);
  process_->Signal(SIGKILL);
  process_->WaitUntil(Clock::Steady().Now() + std::chrono::seconds(10));
}

std::string RunningWeft::Output() const { return ReadWholeFile(output_path_); }

bool RunningWeft::WaitForText(const std::string& path, const std::string& text) {
  const TimePoint deadline = Clock::Steady().Now() + std::chrono::minutes(2);
  while (Clock::Steady().Now() < deadline) {
    if (ReadWholeFile(path).find(text) != std::string::npos) return true;
    if (process_->WaitUntil(Clock::Steady().Now() + kPoll).has_value()) return false;
  }
  return false;
}

std::optional<ProcessExit> RunningWeft::WaitForExit(Duration at_most) {
  return process_->WaitUntil(Clock::Steady().Now() + at_most);
}

std::vector<RunProcess> RunningWeft::Processes() const {
  std::map<pid_t, pid_t> parents;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto pid = static_cast<pid_t>(std::stol(name));
    if (const pid_t parent = ParentOf(pid); parent != 0) parents[pid] = parent;
  }
  std::set<pid_t> below = {pid()};
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& [child, parent] : parents) {
      if (below.contains(parent) && below.insert(child).second) grew = true;
    }
  }
  below.erase(pid());
  std::vector<RunProcess> processes;
  for (const pid_t child : below) {
    const std::string folder = "/proc/" + std::to_string(child);
    RunProcess process{.pid = child, .arguments = SplitAtZeros(ReadWholeFile(folder + "/cmdline")), .rank = ""};
    const std::string name = "OMPI_COMM_WORLD_RANK=";
    for (const std::string& variable : SplitAtZeros(ReadWholeFile(folder + "/environ"))) {
      if (variable.starts_with(name)) process.rank = variable.substr(name.size());
    }
    if (!process.arguments.empty()) processes.push_back(std::move(process));
  }
  return processes;
}

std::optional<RunProcess> Find(const std::vector<RunProcess>& processes, const std::string& name,
                               const std::string& rank) {
  const auto found = std::find_if(processes.begin(), processes.end(), [&](const RunProcess& process) {
    return process.arguments.front().ends_with(name) && (rank.empty() || process.rank == rank);
  });
  return found == processes.end() ? std::nullopt : std::optional(*found);
}

std::string ArgumentOf(const RunProcess& process, const std::string& flag) {
  const auto found = std::find(process.arguments.begin(), process.arguments.end(), flag);
  return found == process.arguments.end() || found + 1 == process.arguments.end() ? "" : *(found + 1);
}

bool AllGone(const std::vector<RunProcess>& processes, Duration at_most) {
  const TimePoint deadline = Clock::Steady().Now() + at_most;
  while (true) {
    const bool gone = std::none_of(processes.begin(), processes.end(),
                                   [](const RunProcess& process) { return ParentOf(process.pid) != 0; });
    if (gone || Clock::Steady().Now() >= deadline) return gone;
    Clock::Steady().SleepFor(kPoll);
  }
}

}  // namespace weft
