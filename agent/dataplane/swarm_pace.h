// Keeps the nodes of a run of SwarmSGD within so many iterations of each other (docs/design/swarm.md, "The lead").
//
// Where nodes hold samples of different kinds, one that is ahead takes the mean to its own kind, and the last one to
// end trains alone with the mean following it. So each node tells its iteration in its registers, and one that would be
// more than `max_lead` iterations ahead of a neighbour waits for it. A neighbour that does not go on for `patience`, or
// is gone, is not waited for until it goes on: what stands still costs one deadline.
//
// Messages: a read of 8 bytes for each neighbour that may be that far behind by what was read of it last, so one a
// neighbour in about max_lead iterations where all are equally fast, and while it waits one a millisecond and
// neighbour. One thread calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "agent/dataplane/swarm_operation.h"
#include "agent/dataplane/swarm_register.h"
#include "agent/transport/registers.h"
#include "common/clock.h"

namespace weft {

struct SwarmPaceOptions {
  std::int64_t max_lead = 0;  // iterations; 0: any number, and nothing is read
  Duration patience = std::chrono::seconds(1);
};

class SwarmPace {
 public:
  // The registers and the clock outlive it.
  SwarmPace(const SwarmPaceOptions& options, std::span<const int> neighbours, Registers& registers, Clock& clock);

  // This node has ended `iteration`: the others see it.
  void Tell(std::int64_t iteration);
  // Returns when no neighbour that goes on is more than max_lead behind `iteration`.
  void Await(std::int64_t iteration);

  const SwarmTraffic& traffic() const { return traffic_; }

 private:
  struct Neighbour {
    int rank = 0;
    std::int64_t iteration = 0;  // as read last
    TimePoint since{};           // it has been there, as far as this node has looked
    bool gone = false;
    std::optional<SwarmOperation> look;  // under way
    SharedBytes word;
  };

  bool IsBehind(const Neighbour& one, std::int64_t iteration) const {
    return one.iteration + options_.max_lead < iteration;
  }
  void Look(Neighbour& one);
  void Take(Neighbour& one, TimePoint now);
  // Takes what has been read. False: nobody is to be waited for.
  bool IsAhead(std::int64_t iteration);

  const SwarmPaceOptions options_;
  Registers& registers_;
  Clock& clock_;
  const std::shared_ptr<SwarmWaker> waker_ = std::make_shared<SwarmWaker>();
  std::vector<Neighbour> neighbours_;
  SwarmTraffic traffic_;
};

}  // namespace weft
