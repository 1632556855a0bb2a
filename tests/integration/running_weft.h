// `weft run` as a process, with all that it starts: to look at it, to kill parts of it, and to see that nothing is
// left.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "coordinator/launch/process.h"

namespace weft {

// A program below `weft run`, as /proc tells.
struct RunProcess {
  pid_t pid = 0;
  std::vector<std::string> arguments;
  std::string rank;  // Open MPI's number of the rank; empty for what is none
};

class RunningWeft {
 public:
  // Starts `weft ARGUMENTS` with its output in `folder`/out and its temporary files in `folder`/tmp.
  RunningWeft(const std::vector<std::string>& arguments, const std::string& folder);
  // Kills what is left.
  ~RunningWeft();
  RunningWeft(const RunningWeft&) = delete;
  RunningWeft& operator=(const RunningWeft&) = delete;

  pid_t pid() const { return process_->pid(); }
  void Signal(int signal) const { process_->Signal(signal); }
  // True once `text` stands in the file, false when the run ended before, or after two minutes.
  bool WaitForText(const std::string& path, const std::string& text);
  std::optional<ProcessExit> WaitForExit(Duration at_most);
  std::string Output() const;

  // The programs below it, now.
  std::vector<RunProcess> Processes() const;

 private:
  const std::string output_path_;
  std::optional<Process> process_;
};

// The first of `processes` whose program ends in `name` (and is that rank); nothing when there is none.
std::optional<RunProcess> Find(const std::vector<RunProcess>& processes, const std::string& name,
                               const std::string& rank = "");

// The word behind `flag` in its arguments; empty when there is none.
std::string ArgumentOf(const RunProcess& process, const std::string& flag);

// True once none of them is alive any more, false when one is after `at_most`.
bool AllGone(const std::vector<RunProcess>& processes, Duration at_most);

std::string ReadWholeFile(const std::string& path);

}  // namespace weft
