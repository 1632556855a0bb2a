#include "coordinator/launch/limits.h"

#include <sys/resource.h>

#include <algorithm>

namespace weft {
namespace {

// Of mpirun, which has the most: its own, and pipes and sockets for each rank. Tried: 5 ranks start with 64.
constexpr rlim_t kOwnFiles = 24;
constexpr rlim_t kFilesPerRank = 8;
// Open MPI's segment of one rank has 4 MiB and a little.
constexpr rlim_t kSegmentBytes = rlim_t{5} << 20;

}  // namespace

Status PrepareLimits(int ranks, bool shared_memory) {
  rlimit files = {};
  const rlim_t needed = kOwnFiles + kFilesPerRank * static_cast<rlim_t>(ranks);
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < needed) {
    files.rlim_cur = std::min(needed, files.rlim_max);
    if (files.rlim_cur < needed || setrlimit(RLIMIT_NOFILE, &files) != 0) {
      return ResourceExhaustedError("open files are limited to " + std::to_string(files.rlim_max) + " (ulimit -n); " +
                                    std::to_string(ranks) + " ranks need " + std::to_string(needed));
    }
  }
  rlimit size = {};
  if (shared_memory && ranks > 1 && getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur < kSegmentBytes) {
    return ResourceExhaustedError("files are limited to " + std::to_string(size.rlim_cur) +
                                  " bytes (ulimit -f); the ranks' shared memory needs " +
                                  std::to_string(kSegmentBytes));
  }
  return OkStatus();
}

std::string DescribeMemoryLimit() {
  rlimit memory = {};
  if (getrlimit(RLIMIT_AS, &memory) != 0 || memory.rlim_cur == RLIM_INFINITY) return "";
  return "memory is limited to " + std::to_string(memory.rlim_cur / 1'000'000) + " MB (ulimit -v)";
}

}  // namespace weft
