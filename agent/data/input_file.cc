#include "agent/data/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace weft {
namespace {

constexpr std::size_t kChunkBytes = 1 << 20;

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Status ReadError(const std::string& path, int error_number) {
  return InvalidArgumentError(ErrnoError(path + ": read", error_number).message());
}

class PlainFile : public InputFile {
 public:
  PlainFile(std::string path, FileDescriptor file) : InputFile(std::move(path)), file_(std::move(file)) {}

  Result<std::size_t> Read(std::span<std::uint8_t> out) override {
    std::size_t done = 0;
    while (done < out.size()) {
      const ssize_t got = ::read(file_.get(), out.data() + done, out.size() - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return ReadError(path(), errno);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

 private:
  FileDescriptor file_;
};

// One or several gzip members, as `gzip -d` takes them. zlib's gzread is not used: it takes a stream that ends in
// mid-member for a short file.
class GzipFile : public InputFile {
 public:
  GzipFile(std::string path, FileDescriptor file) : InputFile(path), compressed_(std::move(path), std::move(file)) {}
  ~GzipFile() override {
    if (initialized_) inflateEnd(&stream_);
  }

  Status Initialize() {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) return InternalError("zlib does not start");
    initialized_ = true;
    return OkStatus();
  }

  Result<std::size_t> Read(std::span<std::uint8_t> out) override {
    std::size_t done = 0;
    while (done < out.size()) {
      if (stream_.avail_in == 0) {
        WEFT_ASSIGN_OR_RETURN(const std::size_t got, compressed_.Read(buffer_));
        if (got == 0 && in_member_) return Refuse("the gzip stream is cut short");
        if (got == 0) break;
        stream_.next_in = buffer_.data();
        stream_.avail_in = static_cast<uInt>(got);
      }
      if (!in_member_) {
        if (members_ > 0 && inflateReset(&stream_) != Z_OK) return InternalError("zlib does not start again");
        in_member_ = true;
      }
      const std::size_t room = std::min<std::size_t>(out.size() - done, kChunkBytes);
      stream_.next_out = out.data() + done;
      stream_.avail_out = static_cast<uInt>(room);
      const int code = inflate(&stream_, Z_NO_FLUSH);
      done += room - stream_.avail_out;
      if (code == Z_STREAM_END) {
        in_member_ = false;
        ++members_;
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        return Refuse(std::string("the gzip stream is damaged: ") + (stream_.msg ? stream_.msg : "unknown error"));
      }
    }
    return done;
  }

 private:
  PlainFile compressed_;
  std::array<std::uint8_t, 1 << 16> buffer_;
  z_stream stream_{};
  bool initialized_ = false;
  bool in_member_ = true;  // between the first byte of a member and its last
  int members_ = 0;        // that were read to their end
};

}  // namespace

Result<std::unique_ptr<InputFile>> InputFile::Open(const std::string& path) {
  const auto refuse = [&path](int error_number) {
    return InvalidArgumentError(ErrnoError(path, error_number).message());
  };
  // Without O_NONBLOCK a FIFO would wait for a writer for ever.
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return refuse(errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return refuse(errno);
  if (!S_ISREG(info.st_mode)) return InvalidArgumentError(path + ": is not a regular file");
  std::array<std::uint8_t, 2> magic{};
  const ssize_t got = ::pread(file.get(), magic.data(), magic.size(), 0);
  if (got < 0) return ReadError(path, errno);
  if (got == 2 && magic[0] == 0x1f && magic[1] == 0x8b) {
    auto gzip = std::make_unique<GzipFile>(path, std::move(file));
    WEFT_RETURN_IF_ERROR(gzip->Initialize());
    return std::unique_ptr<InputFile>(std::move(gzip));
  }
  return std::unique_ptr<InputFile>(std::make_unique<PlainFile>(path, std::move(file)));
}

Result<std::unique_ptr<InputFile>> InputFile::OpenEither(const std::string& folder, const std::string& name) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) return InvalidArgumentError(ErrnoError(folder, errno).message());
  if (!S_ISDIR(info.st_mode)) return InvalidArgumentError(folder + ": is not a folder");
  const std::string plain = folder + "/" + name;
  if (::stat(plain.c_str(), &info) == 0) return Open(plain);
  const std::string gzip = plain + ".gz";
  if (::stat(gzip.c_str(), &info) == 0) return Open(gzip);
  return InvalidArgumentError(folder + ": has neither " + name + " nor " + name + ".gz");
}

Status InputFile::Append(std::uint64_t count, std::vector<std::uint8_t>& out) {
  for (std::uint64_t left = count; left > 0;) {
    const std::size_t before = out.size();
    const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(left, kChunkBytes));
    out.resize(before + step);
    WEFT_ASSIGN_OR_RETURN(const std::size_t got, Read(std::span(out).subspan(before)));
    position_ += got;
    if (got < step) {
      out.resize(before + got);
      return Refuse("ends at byte " + std::to_string(position_) + " of " +
                    std::to_string(position_ - got - (count - left) + count));
    }
    left -= step;
  }
  return OkStatus();
}

Status InputFile::ExpectEnd() {
  std::uint8_t extra = 0;
  WEFT_ASSIGN_OR_RETURN(const std::size_t got, Read(std::span(&extra, 1)));
  if (got > 0) return Refuse("goes on after byte " + std::to_string(position_) + ", where its header says it ends");
  return OkStatus();
}

}  // namespace weft
