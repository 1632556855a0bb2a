// A file that grows by whole pieces: what JsonlWriter and TraceWriter stand on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/status.h"

namespace weft {

// Single thread. Buffers; the destructor writes what is left and ignores errors, so call Flush where they matter.
class AppendFile {
 public:
  // Opens `path`, making it when it is missing. A file that is there and does not end in `end_mark` was cut in
  // mid-piece: it is cut back to behind the last `end_mark` in it, or emptied.
  // The errno's code: the folder is missing or cannot be written.
  static Result<std::unique_ptr<AppendFile>> Open(const std::string& path, std::string_view end_mark);

  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  // Adds a piece to the buffer; writes the buffer when it has grown large. Errors as Flush.
  Status Append(std::string_view piece);

  // Writes the buffer to the file (to the system, not through to the disk). On an error the file is cut back to what it
  // held before, and the buffer is dropped: later pieces are tried anew.
  // RESOURCE_EXHAUSTED: the disk is full. Other errnos: their code.
  Status Flush();

  std::int64_t size() const { return written_ + static_cast<std::int64_t>(buffer_.size()); }

 private:
  AppendFile(std::string path, int file, std::int64_t written)
      : path_(std::move(path)), file_(file), written_(written) {}

  const std::string path_;
  const int file_;
  std::int64_t written_;  // the file's size; always the end of a piece
  std::string buffer_;
};

}  // namespace weft
