// JSON Lines: one JSON value a line. A file that a crash cut in mid-line is cut back to its last whole line.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "common/rundir/append_file.h"
#include "common/status.h"

namespace weft {

// Single thread.
class JsonlWriter {
 public:
  // Goes on behind the lines that are there. Errors as AppendFile::Open.
  static Result<JsonlWriter> Open(const std::string& path);

  // `value` is JSON text without line ends. Errors as AppendFile::Flush.
  Status Write(std::string_view value);
  Status Flush() { return file_->Flush(); }

 private:
  explicit JsonlWriter(std::unique_ptr<AppendFile> file) : file_(std::move(file)) {}
  std::unique_ptr<AppendFile> file_;
};

}  // namespace weft
