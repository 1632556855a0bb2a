// The resource limits of this process and of the ranks that it starts.
#pragma once

#include <string>

#include "common/status.h"

namespace weft {

// Raises the limit of open files to what the launcher of `ranks` ranks needs, where it may. RESOURCE_EXHAUSTED names a
// limit of open files or of file sizes below what the ranks need: Open MPI would hang, or tell it in its own log only.
Status PrepareLimits(int ranks, bool shared_memory);

// "memory is limited to 400 MB (ulimit -v)"; empty where it is not.
std::string DescribeMemoryLimit();

}  // namespace weft
