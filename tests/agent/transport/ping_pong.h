// What the ranks of transport_benchmark print and its main reads: the median one-way time by message size.
#pragma once

#include <cstddef>
#include <vector>

namespace weft {

constexpr std::size_t kPingPongSmallest = 8;
constexpr std::size_t kPingPongLargest = 16 << 20;
constexpr std::size_t kPingPongGrowth = 8;

// Enough for a median; the large ones take long.
constexpr int PingPongRounds(std::size_t bytes) { return bytes <= (64 << 10) ? 1000 : 40; }

// Open MPI called directly, by one thread that waits in MPI_Recv. The median one-way seconds on rank 0, else nothing.
std::vector<double> BarePingPong();

}  // namespace weft
