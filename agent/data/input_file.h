// A file read from front to back, gzip or not: what its first two bytes say, whatever its name.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"

namespace weft {

// Single thread.
class InputFile {
 public:
  // INVALID_ARGUMENT: `path` does not exist, cannot be opened, or is no regular file.
  static Result<std::unique_ptr<InputFile>> Open(const std::string& path);
  // The same for `folder`/`name`, or else `folder`/`name`.gz. INVALID_ARGUMENT names the folder or both files.
  static Result<std::unique_ptr<InputFile>> OpenEither(const std::string& folder, const std::string& name);

  virtual ~InputFile() = default;

  const std::string& path() const { return path_; }

  // Fills `out` as far as the file goes and returns how much that was; less than `out.size()` only at the end.
  // INVALID_ARGUMENT: the gzip stream is cut short, damaged, or followed by foreign bytes; reading failed.
  virtual Result<std::size_t> Read(std::span<std::uint8_t> out) = 0;

  // Exactly `count` bytes, appended to `out`. Memory grows with what is really there, not with `count`.
  // INVALID_ARGUMENT: as Read, and when the file ends before.
  Status Append(std::uint64_t count, std::vector<std::uint8_t>& out);

  // INVALID_ARGUMENT: bytes are left.
  Status ExpectEnd();

  // An error that names this file.
  Status Refuse(const std::string& message) const { return InvalidArgumentError(path_ + ": " + message); }

 protected:
  explicit InputFile(std::string path) : path_(std::move(path)) {}

 private:
  const std::string path_;
  std::uint64_t position_ = 0;  // bytes handed out by Append
};

}  // namespace weft
