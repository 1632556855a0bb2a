// Two ways to run out of room.
#pragma once

#include <sys/resource.h>

#include <string>

namespace weft {

// While it lives, no file of this process grows past `bytes` (RLIMIT_FSIZE); writes past it fail with EFBIG.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes);
  ~FileSizeLimit();
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_before_)(int);
};

// A tmpfs of `kilobytes` on the folder `path`, while it lives. It takes the right to mount.
class SmallDisk {
 public:
  SmallDisk(std::string path, int kilobytes);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }

 private:
  const std::string path_;
  const bool mounted_;
};

}  // namespace weft
