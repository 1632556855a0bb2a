// A transport whose messages leave late, by random times or as a slow link lets them: to show that a run's result does
// not depend on when messages arrive, and that it follows a link that changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "agent/transport/all_reduce.h"
#include "agent/transport/transport.h"
#include "common/mutex.h"

namespace weft {

struct FaultOptions {
  // A message is given to the transport below up to this much later, uniformly, drawn from (seed, sender, receiver,
  // tag, how many before it). Those of one receiver and tag keep their order; of others they overtake each other.
  Duration max_delay{};
  std::uint64_t seed = 1;
  // What this rank may send in a second, asked at each send; null, or 0 or less from it: as much as it likes. Payloads
  // leave one after the other; messages of at most kSmallMessage bytes pass them by, as on a link that is shared.
  std::function<double()> bytes_per_second = nullptr;
  static constexpr std::size_t kSmallMessage = 4096;
};

// Delays the sends of `below`, which outlives it. Receives pass through. A delayed send's `done` runs on below's
// thread, or, when it is aborted before it left, on the aborting one.
class FaultTransport : public Transport {
 public:
  FaultTransport(Transport& below, const FaultOptions& options);
  // Ends the sends that have not left with CANCELLED.
  ~FaultTransport() override;

  int rank() const override { return below_.rank(); }
  int world_size() const override { return below_.world_size(); }
  void Send(int to, Tag tag, std::span<const std::byte> data, Completion done) override WEFT_EXCLUDES(mutex_);
  void Receive(int from, Tag tag, std::span<std::byte> data, Completion done) override;
  // Its messages are delayed as all are.
  void AllReduce(std::span<float> data, int ranks, Completion done) override;
  // The transport's below, whose messages are not delayed.
  Result<std::unique_ptr<Registers>> MakeRegisters(const RegistersOptions& options, TimePoint deadline) override {
    return below_.MakeRegisters(options, deadline);
  }
  void Abort(const Status& cause) override WEFT_EXCLUDES(mutex_);
  // The transport's below, with the delay: "ob1/vader,self of Open MPI 4.1.4, sends delayed up to 200 us".
  std::string description() const override;

 private:
  struct Held {
    TimePoint leaves{};
    std::int64_t order = 0;  // of the sends, for equal times
    int to = 0;
    Tag tag;
    std::span<const std::byte> data;
    Completion done;
    bool operator>(const Held& other) const { return std::tie(leaves, order) > std::tie(other.leaves, other.order); }
  };
  struct Channel {
    std::int64_t sent = 0;
    TimePoint last_leaves{};
  };

  void Run();
  void EndHeld(const Status& cause) WEFT_EXCLUDES(mutex_);

  Transport& below_;
  const FaultOptions options_;
  RingAllReduce all_reduce_;

  Mutex mutex_;
  CondVar changed_;
  std::priority_queue<Held, std::vector<Held>, std::greater<>> held_ WEFT_GUARDED_BY(mutex_);
  std::map<std::pair<int, int>, Channel> channels_ WEFT_GUARDED_BY(mutex_);  // by receiver and tag
  TimePoint port_free_ WEFT_GUARDED_BY(mutex_){};                            // of payloads that leave at a limited rate
  std::int64_t next_order_ WEFT_GUARDED_BY(mutex_) = 0;
  bool giving_ WEFT_GUARDED_BY(mutex_) = false;  // the thread is in below's Send
  bool stopping_ WEFT_GUARDED_BY(mutex_) = false;
  Status aborted_ WEFT_GUARDED_BY(mutex_);

  std::thread thread_;
};

}  // namespace weft
