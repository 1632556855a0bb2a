// The averagings of ADPSGD and Swarm, played message by message as their planes make them (agent/dataplane:
// adpsgd_exchanger.h, swarm_exchanger.h, swarm_node.h). Internal to the gossip simulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "common/plan/plan.h"
#include "coordinator/planner/network.h"
#include "coordinator/planner/planner.h"

namespace weft {

class PairAveraging {
 public:
  // The references outlive it. `seed`: of partners and times.
  struct Parts {
    const Plan& plan;
    const PlanRequest& request;
    const std::vector<std::vector<int>>& neighbours;  // by worker
    std::uint64_t seed = 1;
    SimulatedNetwork& network;
  };

  virtual ~PairAveraging() = default;

  // A round begins, which has one averaging: an iteration of ADPSGD, H of Swarm.
  virtual void Begin(int worker) = 0;
  // The round's compute is over: `then` runs, now or later, when the worker goes on.
  virtual void Await(int worker, std::function<void()> then) = 0;

  // Averagings that end from now on, or until now, count.
  void Measure(bool on) { measuring_ = on; }
  // Of those that were due, the share that was given up or never began.
  double missed_share() const { return ended_ > 0 ? static_cast<double>(missed_) / static_cast<double>(ended_) : 0; }

 protected:
  static std::size_t Size(int value) { return static_cast<std::size_t>(value); }

  explicit PairAveraging(const Parts& parts)
      : plan_(parts.plan),
        request_(parts.request),
        neighbours_(parts.neighbours),
        network_(parts.network),
        random_(parts.seed) {}

  // Of all neighbours, in their order.
  int DrawNeighbour(int worker) {
    return std::uniform_int_distribution<int>(0, static_cast<int>(neighbours_[Size(worker)].size()) - 1)(random_);
  }
  double DrawUnit() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  void After(double us, std::function<void()> run) { network_.At(network_.now() + us, std::move(run)); }
  void CountEnd(bool averaged) {
    if (!measuring_) return;
    ++ended_;
    missed_ += averaged ? 0 : 1;
  }

  const Plan& plan_;
  const PlanRequest& request_;
  const std::vector<std::vector<int>>& neighbours_;
  SimulatedNetwork& network_;

 private:
  std::mt19937_64 random_;
  bool measuring_ = false;
  std::int64_t ended_ = 0;
  std::int64_t missed_ = 0;
};

std::unique_ptr<PairAveraging> MakeAdpsgdAveraging(const PairAveraging::Parts& parts);
std::unique_ptr<PairAveraging> MakeSwarmAveraging(const PairAveraging::Parts& parts);

}  // namespace weft
