// Open MPI's sums, called directly: what reduce_benchmark compares with.
#pragma once

#include <cstddef>
#include <vector>

namespace weft {

// In floats: 4 KiB to 64 MiB.
inline const std::vector<std::size_t> kReduceSizes = {1 << 10, 8 << 10, 64 << 10, 512 << 10, 4 << 20, 16 << 20};

// Enough for a median.
constexpr int ReduceRounds(std::size_t floats) { return floats <= (64 << 10) ? 200 : floats <= (512 << 10) ? 30 : 5; }

// The median seconds of a sum by size, on rank 0, else nothing. Not blocking: by MPI_Iallreduce, tested in a loop.
std::vector<double> BareAllReduce(bool blocking);

}  // namespace weft
