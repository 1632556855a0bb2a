#include <thread>
#include <vector>

#include "agent/transport/loopback.h"
#include "tests/agent/transport/every_rank.h"

namespace weft {

int TestWorldSize() { return 4; }

void OnEveryRank(const std::function<void(Transport&)>& rank_main) {
  LoopbackNetwork network(TestWorldSize());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < TestWorldSize(); ++rank) {
    threads.emplace_back([&network, &rank_main, rank] { rank_main(network.endpoint(rank)); });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace weft
