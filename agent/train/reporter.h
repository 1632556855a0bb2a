// Sends what each iteration was like to the coordinator, many in one message.
#pragma once

#include <cstdint>
#include <span>

#include "agent/client/coordinator_client.h"
#include "agent/dataplane/data_plane.h"
#include "agent/model/model.h"
#include "common/clock.h"
#include "common/status.h"
#include "proto/coordinator.pb.h"

namespace weft {

// One thread.
class Reporter {
 public:
  Reporter(CoordinatorClient& coordinator, Clock& clock) : coordinator_(coordinator), clock_(clock) {}

  struct Context {
    std::int64_t epoch = 1;
    TimePoint forward_end{};
    std::int64_t samples = 0;
    double staleness_iterations = 0;
    Duration communication{};   // of the iteration, in the plane without the local steps
    bool with_servers = false;  // what was sent and received is in the transfers
  };

  // Sends when the oldest report waits for more than a fifth of a second. UNAVAILABLE: the coordinator is gone.
  Status Add(const IterationRecord& record, const BatchResult& result, const Context& context);
  Status Flush();
  // `weights` at the end of `iteration`, as a sketch; `seed` is the same at all workers.
  Status AddSketch(std::int64_t iteration, std::span<const float> weights, std::uint64_t seed);
  Status AddExchange(const ExchangeStatistics& statistics);

  std::int64_t last_iteration() const { return last_iteration_; }

 private:
  CoordinatorClient& coordinator_;
  Clock& clock_;
  v1::AgentMessage pending_;
  TimePoint oldest_{};
  std::int64_t last_iteration_ = 0;
};

}  // namespace weft
