#include "common/rundir/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

namespace weft {
namespace {

Status WriteError(const std::string& path, int error_number) {
  // Past RLIMIT_FSIZE the kernel says EFBIG; to whoever asked for the file the room is used up either way.
  Status status = ErrnoError("write " + path, error_number);
  return error_number == EFBIG ? ResourceExhaustedError(status.message()) : status;
}

Status SyncFolder(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int file = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return WriteError(path, errno);
  // Some network file systems know no sync of a folder and say EINVAL; there is nothing more to be done there.
  const bool synced = ::fsync(file) == 0 || errno == EINVAL;
  const int error_number = errno;
  ::close(file);
  return synced ? OkStatus() : WriteError(path, error_number);
}

}  // namespace

Result<std::unique_ptr<AtomicFile>> AtomicFile::Create(const std::string& path) {
  std::string temporary = path;
  temporary.append(".tmp-").append(std::to_string(::getpid()));
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return WriteError(path, errno);
  return std::unique_ptr<AtomicFile>(new AtomicFile(path, std::move(temporary), file));
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) ::close(file_);
  if (!committed_) ::unlink(temporary_.c_str());
}

Status AtomicFile::Write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return WriteError(path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return OkStatus();
}

Status AtomicFile::Commit() {
  if (::fsync(file_) != 0) return WriteError(path_, errno);
  if (::close(std::exchange(file_, -1)) != 0) return WriteError(path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return WriteError(path_, errno);
  committed_ = true;
  return SyncFolder(path_);
}

Status WriteFileAtomically(const std::string& path, std::string_view text) {
  WEFT_ASSIGN_OR_RETURN(const auto file, AtomicFile::Create(path));
  WEFT_RETURN_IF_ERROR(file->Write(text));
  return file->Commit();
}

Result<std::string> ReadSmallFile(const std::string& path, std::size_t limit) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return ErrnoError(path, errno);
  std::string text;
  Status status;
  struct stat info {};
  if (::fstat(file, &info) == 0 && !S_ISREG(info.st_mode)) {
    status = InvalidArgumentError(path + ": is not a regular file");
  }
  while (status.ok()) {
    char buffer[1 << 16];
    const ssize_t got = ::read(file, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) status = ErrnoError("read " + path, errno);
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > limit) {
      status = InvalidArgumentError(path + ": is longer than " + std::to_string(limit) + " bytes");
    }
  }
  ::close(file);
  if (!status.ok()) return status;
  return text;
}

}  // namespace weft
