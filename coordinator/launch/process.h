// Child processes that leave nothing behind: they die with their parent, and whatever they start and orphan is found
// and ended. Linux only. Call from the main thread: a child's death signal is tied to the thread that made it.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"

namespace weft {

struct Command {
  std::vector<std::string> arguments;              // the first is the program, by path or found in PATH
  std::map<std::string, std::string> environment;  // on top of this process's own
  std::string output_path;                         // stdout and stderr are appended there; empty: inherited
  bool new_session = false;                        // else a process group of its own
  int death_signal = 9;                            // sent to it when this process dies
};

// "ended with exit code 3", "was killed by signal 9".
struct ProcessExit {
  int code = 0;
  int signal = 0;  // 0: it exited by itself
  bool ok() const { return code == 0 && signal == 0; }
  std::string ToString() const;
};

// Not thread-safe.
class Process {
 public:
  // NOT_FOUND when the program is missing; errors of fork and of opening the output file.
  static Result<Process> Start(const Command& command);

  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  ~Process();  // does not wait

  pid_t pid() const { return pid_; }
  // How it ended; nothing when it still runs at `deadline`.
  std::optional<ProcessExit> WaitUntil(TimePoint deadline);
  void Signal(int signal) const;

 private:
  Process(pid_t pid, int pid_fd) : pid_(pid), pid_fd_(pid_fd) {}

  pid_t pid_;
  int pid_fd_;
  std::optional<ProcessExit> exit_;
};

// From now on, processes whose parent dies become children of this one instead of init's.
Status BecomeSubreaper();

// Ends everything that descends from this process: SIGTERM now, SIGKILL to what is left after `grace`, until
// `deadline`; reaps it all. Needs BecomeSubreaper. DEADLINE_EXCEEDED names what would not die.
Status EndDescendants(Duration grace, TimePoint deadline);

}  // namespace weft
