#include "tests/agent/transport/bare_all_reduce.h"

#include <mpi.h>
#include <sched.h>

#include <algorithm>

namespace weft {

std::vector<double> BareAllReduce(bool blocking) {
  MPI_Init(nullptr, nullptr);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<double> medians;
  for (const std::size_t floats : kReduceSizes) {
    std::vector<float> data(floats, 1.0F);
    std::vector<double> seconds;
    const int count = static_cast<int>(floats);
    for (int round = 0; round < ReduceRounds(floats); ++round) {
      const double start = MPI_Wtime();
      if (blocking) {
        MPI_Allreduce(MPI_IN_PLACE, data.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      } else {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Iallreduce(MPI_IN_PLACE, data.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
        for (int done = 0; done == 0;) {
          MPI_Test(&request, &done, MPI_STATUS_IGNORE);
          if (done == 0) sched_yield();
        }
      }
      seconds.push_back(MPI_Wtime() - start);
    }
    if (rank != 0) continue;
    std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2), seconds.end());
    medians.push_back(seconds[seconds.size() / 2]);
  }
  MPI_Finalize();
  return medians;
}

}  // namespace weft
