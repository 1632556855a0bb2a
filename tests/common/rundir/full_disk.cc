#include "tests/common/rundir/full_disk.h"

#include <signal.h>
#include <sys/mount.h>

#include <utility>

#include "common/check.h"

namespace weft {

FileSizeLimit::FileSizeLimit(rlim_t bytes) : handler_before_(::signal(SIGXFSZ, SIG_IGN)) {
  WEFT_CHECK(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
  const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
  WEFT_CHECK(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

FileSizeLimit::~FileSizeLimit() {
  WEFT_CHECK(::setrlimit(RLIMIT_FSIZE, &before_) == 0);
  ::signal(SIGXFSZ, handler_before_);
}

SmallDisk::SmallDisk(std::string path, int kilobytes)
    : path_(std::move(path)),
      mounted_(::mount("tmpfs", path_.c_str(), "tmpfs", 0, ("size=" + std::to_string(kilobytes) + "k").c_str()) == 0) {}

SmallDisk::~SmallDisk() {
  if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
}

}  // namespace weft
