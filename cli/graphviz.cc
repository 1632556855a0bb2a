#include "cli/graphviz.h"

#include <signal.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "common/rundir/atomic_file.h"
#include "coordinator/launch/process.h"

namespace weft {
namespace {

constexpr std::size_t kMaxSvgBytes = 256u << 20;
constexpr std::size_t kMaxLogBytes = 1u << 20;

// Removed with all that is in it.
class ScratchFolder {
 public:
  static Result<ScratchFolder> Make() {
    std::error_code error;
    std::string path = (std::filesystem::temp_directory_path(error) / "weft-graphviz-XXXXXX").string();
    if (error || mkdtemp(path.data()) == nullptr) return ErrnoError("make " + path, errno);
    return ScratchFolder(std::move(path));
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

Result<Process> StartGraphviz(const ScratchFolder& folder) {
  for (const char* program : {"dot", "neato"}) {
    Result<Process> process =
        Process::Start({.arguments = {program, "-Tsvg", "-o", folder.File("svg"), folder.File("dot")},
                        .environment = {},
                        .output_path = folder.File("log")});
    if (process.ok() || process.status().code() != StatusCode::kNotFound) return process;
  }
  return FailedPreconditionError("drawing needs Graphviz (dot or neato), which is not in PATH");
}

std::string FirstLine(const std::string& path) {
  const Result<std::string> text = ReadSmallFile(path, kMaxLogBytes);
  return text.ok() ? text->substr(0, text->find('\n')) : "";
}

}  // namespace

Result<std::string> DrawSvg(const std::string& dot, TimePoint deadline) {
  WEFT_ASSIGN_OR_RETURN(const ScratchFolder folder, ScratchFolder::Make());
  WEFT_RETURN_IF_ERROR(WriteFileAtomically(folder.File("dot"), dot));
  WEFT_ASSIGN_OR_RETURN(Process process, StartGraphviz(folder));
  const std::optional<ProcessExit> exit = process.WaitUntil(deadline);
  if (!exit.has_value()) {
    process.Signal(SIGKILL);
    process.WaitUntil(deadline + std::chrono::seconds(5));
    return DeadlineExceededError("Graphviz was not done in time");
  }
  if (!exit->ok())
    return FailedPreconditionError("Graphviz " + exit->ToString() + ": " + FirstLine(folder.File("log")));
  return ReadSmallFile(folder.File("svg"), kMaxSvgBytes);
}

}  // namespace weft
