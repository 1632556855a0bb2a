// trace.json: what every rank did when, for chrome://tracing and ui.perfetto.dev (the Trace Event Format's array of
// complete events). The array's last bracket is optional in the format, so the trace of a run that was killed opens
// too.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/rundir/append_file.h"
#include "common/status.h"

namespace weft {

struct TraceEvent {
  std::string name;
  int pid = 0;       // the rank
  int tid = 0;       // the row within the rank: compute, slots, transfers
  double ts_us = 0;  // start
  double dur_us = 0;
  std::vector<std::pair<std::string, std::variant<std::int64_t, double, std::string>>> args = {};
};

// Single thread.
class TraceWriter {
 public:
  static constexpr std::int64_t kMaximumBytes = std::int64_t{256} << 20;  // what the viewers open well

  // Goes on behind the events that are there (a resumed run). Past `maximum_bytes` events are counted and left out.
  // Errors as AppendFile::Open.
  static Result<TraceWriter> Open(const std::string& path, std::int64_t maximum_bytes = kMaximumBytes);

  // What a rank and a row of it are called. Errors of these and Write as AppendFile::Flush.
  Status NameProcess(int pid, const std::string& name);
  Status NameThread(int pid, int tid, const std::string& name);
  Status Write(const TraceEvent& event);
  Status Flush() { return file_->Flush(); }

  // Ends the array, so that every JSON parser takes the file. Nothing but destruction follows.
  Status Close();

  std::int64_t dropped() const { return dropped_; }

 private:
  TraceWriter(std::unique_ptr<AppendFile> file, std::int64_t maximum_bytes)
      : file_(std::move(file)), maximum_bytes_(maximum_bytes) {}
  Status WriteText(const std::string& text);

  std::unique_ptr<AppendFile> file_;
  std::int64_t maximum_bytes_;
  std::int64_t dropped_ = 0;
};

}  // namespace weft
