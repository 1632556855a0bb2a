// The folder that a run leaves; docs/format/run-directory.md describes it.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"

namespace weft {

// Held by the process that runs in a run directory; ends with it at the latest.
class RunLock {
 public:
  RunLock() = default;  // of nothing
  explicit RunLock(int folder) : folder_(folder) {}
  RunLock(RunLock&& other) noexcept : folder_(std::exchange(other.folder_, -1)) {}
  RunLock& operator=(RunLock&& other) noexcept {
    std::swap(folder_, other.folder_);
    return *this;
  }
  ~RunLock();

 private:
  int folder_ = -1;
};

class RunDirectory {
 public:
  // A new folder `output_path`/<name>-<UTC time>, with -2, -3, … behind it when that is taken. Missing folders above
  // are made. The errno's code names the folder that cannot be made.
  static Result<RunDirectory> Create(const std::string& output_path, const std::string& name,
                                     std::chrono::system_clock::time_point now);

  // The folder `path` for a new run, made when missing. INVALID_ARGUMENT: it holds a run already.
  static Result<RunDirectory> CreateAt(const std::string& path);

  // Takes away what a run that was refused before it trained has made, and the folder where nothing else lies in it, so
  // that the same folder can be named again. Only for what Create or CreateAt gave.
  void Discard() const;

  // The folder of a run that goes on. INVALID_ARGUMENT: it is missing or holds no run.
  static Result<RunDirectory> Open(const std::string& path);

  // The same to look at, whether or not the run has ended: nothing is made or changed.
  static Result<RunDirectory> OpenToRead(const std::string& path);

  // For as long as the run goes on. INVALID_ARGUMENT: another process holds it. Nothing is locked on a file system
  // that has no locks.
  Result<RunLock> Lock() const;

  const std::string& path() const { return path_; }
  std::string job() const { return path_ + "/job.yaml"; }  // as it was run; makes the folder a run's
  std::string plan() const { return path_ + "/plan.json"; }
  std::string plans() const { return path_ + "/plans"; }  // a folder: each that has held
  std::string timeline() const { return path_ + "/timeline.json"; }
  std::string metrics() const { return path_ + "/metrics.jsonl"; }
  std::string trace() const { return path_ + "/trace.json"; }
  std::string model() const { return path_ + "/model.safetensors"; }
  std::string summary() const { return path_ + "/summary.json"; }
  std::string coordinator() const { return path_ + "/coordinator"; }  // its address, while the run goes on
  std::string report() const { return path_ + "/report.html"; }
  std::string checkpoints() const { return path_ + "/checkpoints"; }  // a folder, always there
  std::string logs() const { return path_ + "/logs"; }                // a folder

 private:
  explicit RunDirectory(std::string path) : path_(std::move(path)) {}
  std::vector<std::string> Files() const;  // that make a folder a run's

  std::string path_;
};

}  // namespace weft
