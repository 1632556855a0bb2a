#include "common/rundir/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <vector>

namespace weft {
namespace {

namespace fs = std::filesystem;

Status MakeFolders(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error && !fs::is_directory(path, error) && !error) error = std::make_error_code(std::errc::not_a_directory);
  return error ? ErrnoError("make " + path, error.value()) : OkStatus();
}

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// "20260131T235959Z"
std::string UtcTime(std::chrono::system_clock::time_point now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &utc);
  return text.data();
}

}  // namespace

RunLock::~RunLock() {
  if (folder_ >= 0) ::close(folder_);
}

Result<RunLock> RunDirectory::Lock() const {
  const int folder = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return ErrnoError("open " + path_, errno);
  RunLock lock(folder);
  if (::flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return InvalidArgumentError(path_ + ": a run goes on in it");
  }
  return lock;
}

Result<RunDirectory> RunDirectory::Create(const std::string& output_path, const std::string& name,
                                          std::chrono::system_clock::time_point now) {
  WEFT_RETURN_IF_ERROR(MakeFolders(output_path));
  const std::string base = output_path + "/" + name + "-" + UtcTime(now);
  constexpr int kMaximumTries = 1000;
  for (int n = 1; n <= kMaximumTries; ++n) {
    const std::string path = n == 1 ? base : base + "-" + std::to_string(n);
    if (::mkdir(path.c_str(), 0755) == 0) {
      RunDirectory run(path);
      WEFT_RETURN_IF_ERROR(MakeFolders(run.checkpoints()));
      return run;
    }
    if (errno != EEXIST) return ErrnoError("make " + path, errno);
  }
  return AlreadyExistsError("make " + base + ": that name is taken " + std::to_string(kMaximumTries) + " times");
}

Result<RunDirectory> RunDirectory::CreateAt(const std::string& path) {
  const RunDirectory run(path);
  for (const std::string& file : run.Files()) {
    if (Exists(file)) {
      return InvalidArgumentError(path + ": holds a run already (" + fs::path(file).filename().string() +
                                  "): resume it or name another folder");
    }
  }
  WEFT_RETURN_IF_ERROR(MakeFolders(run.checkpoints()));
  return run;
}

void RunDirectory::Discard() const {
  std::error_code ignored;
  for (const std::string& file : Files()) fs::remove_all(file, ignored);
  // Where somebody else's file lies in them, the folders stay.
  for (const char* file : {"/coordinator.log", "/ranks.log", ""}) fs::remove(logs() + file, ignored);
  fs::remove(path_, ignored);
}

std::vector<std::string> RunDirectory::Files() const {
  return {job(),   plan(),    plans(),  timeline(),    metrics(),    trace(),
          model(), summary(), report(), checkpoints(), coordinator()};
}

Result<RunDirectory> RunDirectory::Open(const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(const RunDirectory run, OpenToRead(path));
  WEFT_RETURN_IF_ERROR(MakeFolders(run.checkpoints()));
  return run;
}

Result<RunDirectory> RunDirectory::OpenToRead(const std::string& path) {
  const RunDirectory run(path);
  if (!Exists(path)) return InvalidArgumentError(path + ": No such file or directory");
  if (!Exists(run.job())) return InvalidArgumentError(path + ": holds no run: it has no job.yaml");
  return run;
}

}  // namespace weft
