// Files that are there as a whole or not at all: written under a temporary name beside the place, synced, renamed, and
// the folder synced. A full disk, a crash or an error leaves what was there before.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/status.h"

namespace weft {

// Single thread.
class AtomicFile {
 public:
  // Opens `path`'s temporary, `path` + ".tmp-<process id>". One that an earlier process left is not touched.
  // The errno's code: the folder is missing or cannot be written.
  static Result<std::unique_ptr<AtomicFile>> Create(const std::string& path);

  // Removes the temporary unless Commit went well.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // RESOURCE_EXHAUSTED: the disk, the quota or the largest allowed file is full. Other errnos: their code.
  Status Write(std::span<const std::byte> bytes);
  Status Write(std::string_view text) { return Write(std::as_bytes(std::span(text))); }

  // The file takes its place. Errors as Write.
  Status Commit();

 private:
  AtomicFile(std::string path, std::string temporary, int file)
      : path_(std::move(path)), temporary_(std::move(temporary)), file_(file) {}

  const std::string path_;
  const std::string temporary_;
  int file_;
  bool committed_ = false;
};

// All of it in one call.
Status WriteFileAtomically(const std::string& path, std::string_view text);

// A whole small file. INVALID_ARGUMENT: it is longer than `limit` or no regular file. Other errors: the errno's code,
// NOT_FOUND among them.
Result<std::string> ReadSmallFile(const std::string& path, std::size_t limit);

}  // namespace weft
