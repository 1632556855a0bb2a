#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tests/agent/transport/ping_pong.h"

namespace weft {

std::vector<double> BarePingPong() {
  MPI_Init(nullptr, nullptr);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<double> medians;
  for (std::size_t bytes = kPingPongSmallest; bytes <= kPingPongLargest; bytes *= kPingPongGrowth) {
    std::vector<std::byte> buffer(bytes);
    std::vector<double> seconds;
    const int count = static_cast<int>(bytes);
    for (int round = 0; round < PingPongRounds(bytes); ++round) {
      const double start = MPI_Wtime();
      if (rank == 0) {
        MPI_Send(buffer.data(), count, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(buffer.data(), count, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        seconds.push_back((MPI_Wtime() - start) / 2);
      } else {
        MPI_Recv(buffer.data(), count, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer.data(), count, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
      }
    }
    if (rank != 0) continue;
    std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2), seconds.end());
    medians.push_back(seconds[seconds.size() / 2]);
  }
  MPI_Finalize();
  return medians;
}

}  // namespace weft
