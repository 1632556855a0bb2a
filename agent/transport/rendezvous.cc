#include "agent/transport/rendezvous.h"

#include <memory>

#include "common/mutex.h"

namespace weft {
namespace {

// Shared with the completions, which may run after the deadline.
struct Exchange {
  std::vector<std::byte> mine;
  std::vector<std::vector<std::byte>> theirs;
  Mutex mutex;
  CondVar changed;
  std::vector<bool> pending WEFT_GUARDED_BY(mutex);  // by rank: whose bytes have not come
  int sending WEFT_GUARDED_BY(mutex) = 0;
  Status error WEFT_GUARDED_BY(mutex);

  int MissingRank() WEFT_REQUIRES(mutex) {
    for (std::size_t rank = 0; rank < pending.size(); ++rank) {
      if (pending[rank]) return static_cast<int>(rank);
    }
    return -1;
  }
};

}  // namespace

Result<std::vector<std::vector<std::byte>>> ExchangeWithAll(Transport& transport, int ranks, Tag tag,
                                                            std::span<const std::byte> mine, TimePoint deadline,
                                                            const std::string& what) {
  const auto exchange = std::make_shared<Exchange>();
  exchange->mine.assign(mine.begin(), mine.end());
  exchange->theirs.assign(static_cast<std::size_t>(ranks), exchange->mine);
  {
    const MutexLock lock(exchange->mutex);
    exchange->pending.assign(static_cast<std::size_t>(ranks), true);
    exchange->pending[static_cast<std::size_t>(transport.rank())] = false;
    exchange->sending = ranks - 1;
  }
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == transport.rank()) continue;
    const auto index = static_cast<std::size_t>(peer);
    transport.Receive(peer, tag, exchange->theirs[index], [exchange, index](const Status& status) {
      const MutexLock lock(exchange->mutex);
      exchange->pending[index] = false;
      if (exchange->error.ok()) exchange->error = status;
      exchange->changed.NotifyOne();
    });
    transport.Send(peer, tag, exchange->mine, [exchange](const Status& status) {
      const MutexLock lock(exchange->mutex);
      --exchange->sending;
      if (exchange->error.ok()) exchange->error = status;
      exchange->changed.NotifyOne();
    });
  }
  const MutexLock lock(exchange->mutex);
  while (exchange->error.ok() && (exchange->sending > 0 || exchange->MissingRank() >= 0)) {
    if (Clock::Steady().Now() >= deadline) {
      const int missing = exchange->MissingRank();
      return DeadlineExceededError("rank " + std::to_string(transport.rank()) + ": " +
                                   (missing >= 0 ? "rank " + std::to_string(missing) : "a rank") + " did not come to " +
                                   what + " before the deadline");
    }
    exchange->changed.WaitUntil(exchange->mutex, deadline);
  }
  if (!exchange->error.ok()) return exchange->error;
  return exchange->theirs;
}

}  // namespace weft
