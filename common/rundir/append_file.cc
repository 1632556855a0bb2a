#include "common/rundir/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace weft {
namespace {

constexpr std::size_t kBufferBytes = 1 << 16;

// Where the last `mark` within the first `size` bytes of `file` ends; 0 without one, -1 for a failed read.
std::int64_t EndOfLastMark(int file, std::int64_t size, std::string_view mark) {
  std::string window;  // what follows `at`, long enough for a mark across two reads
  for (std::int64_t at = size; at > 0;) {
    const std::int64_t step = std::min<std::int64_t>(at, static_cast<std::int64_t>(kBufferBytes));
    std::string chunk(static_cast<std::size_t>(step), '\0');
    if (::pread(file, chunk.data(), chunk.size(), at - step) != step) return -1;
    at -= step;
    window.insert(0, chunk);
    if (const std::size_t found = window.rfind(mark); found != std::string::npos) {
      return at + static_cast<std::int64_t>(found + mark.size());
    }
    window.resize(std::min(window.size(), mark.size() - 1));
  }
  return 0;
}

}  // namespace

Result<std::unique_ptr<AppendFile>> AppendFile::Open(const std::string& path, std::string_view end_mark) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
  if (file < 0) return ErrnoError("write " + path, errno);
  std::unique_ptr<AppendFile> opened(new AppendFile(path, file, 0));
  struct stat info {};
  if (::fstat(file, &info) != 0) return ErrnoError(path, errno);
  if (!S_ISREG(info.st_mode)) return InvalidArgumentError(path + ": is not a regular file");
  const std::int64_t end = EndOfLastMark(file, info.st_size, end_mark);
  if (end < 0) return ErrnoError("read " + path, errno);
  if (end < info.st_size && ::ftruncate(file, end) != 0) return ErrnoError("write " + path, errno);
  opened->written_ = end;
  return opened;
}

AppendFile::~AppendFile() {
  static_cast<void>(Flush().ok());
  ::close(file_);
}

Status AppendFile::Append(std::string_view piece) {
  buffer_.append(piece);
  return buffer_.size() < kBufferBytes ? OkStatus() : Flush();
}

Status AppendFile::Flush() {
  std::string_view left = buffer_;
  std::int64_t at = written_;
  while (!left.empty()) {
    const ssize_t written = ::pwrite(file_, left.data(), left.size(), at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int error_number = errno == EFBIG ? ENOSPC : errno;
      // Cutting needs no room, so it works on a full disk; were it to fail, the next Open cuts.
      static_cast<void>(::ftruncate(file_, written_) == 0);
      buffer_.clear();
      return ErrnoError("write " + path_, error_number);
    }
    left.remove_prefix(static_cast<std::size_t>(written));
    at += written;
  }
  written_ = at;
  buffer_.clear();
  return OkStatus();
}

}  // namespace weft
