#include "coordinator/planner/gossip_simulator.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/math/push_sum.h"
#include "common/plan/names.h"
#include "coordinator/planner/network.h"
#include "coordinator/planner/pace.h"
#include "coordinator/planner/pair_averaging.h"
#include "coordinator/planner/peer_traffic.h"
#include "coordinator/planner/processor.h"

namespace weft {
namespace {

// A round of gossip is played with this many messages at a time at most.
constexpr double kMostMessages = 100'000;

std::size_t Size(int value) { return static_cast<std::size_t>(value); }

class GossipSimulation {
 public:
  GossipSimulation(const Plan& plan, const PlanRequest& request, const PeerLinks& links,
                   const SimulationOptions& options)
      : plan_(plan),
        request_(request),
        bytes_(static_cast<double>(plan.groups[0].bytes)),
        cost_(ProcessorCostUs(plan, request)),
        neighbours_(NeighboursOf(plan.strategy, request)),
        measured_(IterationsToMeasure(plan.period, options.iterations,
                                      plan.workers * std::max(1.0, DegreesOf(plan.strategy, request).mean))),
        warm_(IterationsToSettle(plan.period, measured_, options.slowdown)),
        pace_(options),
        network_(links, plan.workers),
        workers_(Size(plan.workers)) {
    const PairAveraging::Parts parts{
        .plan = plan, .request = request, .neighbours = neighbours_, .seed = options.seed + 1, .network = network_};
    if (plan.strategy == StrategyType::kADPSGD) pairs_ = MakeAdpsgdAveraging(parts);
    if (plan.strategy == StrategyType::kSwarm) pairs_ = MakeSwarmAveraging(parts);
  }

  SimulationResult Run() {
    for (int w = 0; w < plan_.workers; ++w) BeginIteration(w);
    while (finished_ < plan_.workers) network_.Step();
    return Summary();
  }

 private:
  struct Worker {
    int iteration = 0;  // from 1
    double factor = 1;
    std::map<int, int> arrived;  // by iteration: messages that belong to it
    int waits_for = 0;           // the iteration whose messages it waits for; 0: it does not
    double waits_since = 0;
    double measured_from = 0;
    double measured_to = 0;
    double stall_us = 0;
  };

  bool measures(const Worker& worker) const { return worker.iteration > warm_; }
  bool ends_round(const Worker& worker) const { return worker.iteration % plan_.period == 0; }

  // A worker whose measured iterations are over goes on until all others' are: they talk to it.
  void BeginIteration(int w) {
    Worker& worker = workers_[Size(w)];
    if (worker.iteration == warm_) {
      worker.measured_from = network_.now();
      if (++measuring_ == 1) Measure(true);
    }
    if (worker.iteration == warm_ + measured_) {
      worker.measured_to = network_.now();
      if (++finished_ == 1) Measure(false);
    }
    ++worker.iteration;
    worker.factor = pace_.Next(w);
    if (plan_.workers > 1) StartExchange(w);
    const double compute = request_.timeline.compute_us() * worker.factor;
    network_.At(network_.now() + compute, [this, w] { EndCompute(w); });
  }

  void Measure(bool on) {
    network_.Measure(on);
    if (pairs_) pairs_->Measure(on);
    (on ? measure_from_ : measure_to_) = network_.now();
  }

  // What leaves as the iteration starts.
  void StartExchange(int w) {
    if (pairs_ && (workers_[Size(w)].iteration - 1) % plan_.period == 0) pairs_->Begin(w);
    if (plan_.strategy == StrategyType::kDPSGD) SendToAll(w);
  }

  void EndCompute(int w) {
    Worker& worker = workers_[Size(w)];
    if (plan_.workers == 1) return BeginIteration(w);
    worker.waits_since = network_.now();
    if (plan_.strategy == StrategyType::kDPSGD) return WaitFor(w, worker.iteration);
    if (plan_.strategy == StrategyType::kSGP) {
      SendModel(w, PushReceiver(neighbours_[Size(w)], w, worker.iteration));
      return WaitFor(w, worker.iteration - request_.peers.overlap);
    }
    if (!ends_round(worker)) return BeginIteration(w);
    pairs_->Await(w, [this, w] { EndIteration(w); });
  }

  void EndIteration(int w) {
    Worker& worker = workers_[Size(w)];
    const double outside = cost_ * worker.factor;
    if (measures(worker)) worker.stall_us += network_.now() - worker.waits_since + outside;
    network_.At(network_.now() + outside, [this, w] { BeginIteration(w); });
  }

  void SendToAll(int w) {
    for (const int to : neighbours_[Size(w)]) SendModel(w, to);
  }

  void SendModel(int from, int to) {
    const int iteration = workers_[Size(from)].iteration;
    network_.Send(from, to, bytes_, [this, from, to, iteration] {
      Arrive(to, iteration);
      if (plan_.strategy == StrategyType::kSGP) Arrive(from, iteration);  // that it has left is waited for too
    });
  }

  // The messages of an iteration that a worker waits for. In SGP who sends to whom changes by iteration.
  int Expected(int w, int iteration) const {
    if (iteration < 1) return 0;
    if (plan_.strategy == StrategyType::kDPSGD) return static_cast<int>(neighbours_[Size(w)].size());
    int count = 1;  // its own
    for (const int from : neighbours_[Size(w)]) {
      count += PushReceiver(neighbours_[Size(from)], from, iteration) == w ? 1 : 0;
    }
    return count;
  }

  void Arrive(int w, int iteration) {
    Worker& worker = workers_[Size(w)];
    ++worker.arrived[iteration];
    if (worker.waits_for == iteration) Check(w);
  }

  void WaitFor(int w, int iteration) {
    Worker& worker = workers_[Size(w)];
    worker.waits_for = iteration;
    Check(w);
  }

  void Check(int w) {
    Worker& worker = workers_[Size(w)];
    const int iteration = worker.waits_for;
    if (worker.arrived[iteration] < Expected(w, iteration)) return;
    worker.arrived.erase(worker.arrived.begin(), worker.arrived.upper_bound(iteration));
    worker.waits_for = 0;
    EndIteration(w);
  }

  SimulationResult Summary() const {
    SimulationResult out;
    out.compute_us = request_.timeline.compute_us();
    for (const Worker& worker : workers_) {
      out.iteration_us += (worker.measured_to - worker.measured_from) / measured_ / plan_.workers;
      out.stall_us += worker.stall_us / measured_ / plan_.workers;
    }
    out.group_stall_us = {out.stall_us * plan_.period};
    out.link_use = network_.meter().busy_share();
    out.concurrent_share = network_.meter().concurrent_share();
    out.peak_bytes_per_second = network_.meter().peak_bytes_per_second();
    // Workers' iterations may overlap in any way, so bytes are counted by time.
    const double iterations = std::max(1e-9, (measure_to_ - measure_from_) / out.iteration_us);
    for (const double bytes : network_.sent_bytes()) {
      out.sent_bytes.push_back(bytes / iterations);
      out.bytes_per_iteration += bytes / iterations;
    }
    out.sent_bytes.resize(Size(plan_.workers + plan_.servers), 0);
    if (pairs_) out.missed_share = pairs_->missed_share();
    return out;
  }

  const Plan& plan_;
  const PlanRequest& request_;
  const double bytes_;
  const double cost_;  // of the processor, an exchange
  const std::vector<std::vector<int>> neighbours_;
  const int measured_;
  const int warm_;
  Pace pace_;
  SimulatedNetwork network_;
  std::unique_ptr<PairAveraging> pairs_;  // ADPSGD, Swarm
  std::vector<Worker> workers_;
  int measuring_ = 0;
  int finished_ = 0;
  double measure_from_ = 0;
  double measure_to_ = 0;
};

}  // namespace

Result<SimulationResult> SimulateGossip(const Plan& plan, const PlanRequest& request, const PeerLinks& links,
                                        const SimulationOptions& options) {
  const double messages = plan.workers * DegreesOf(plan.strategy, request).mean;
  if (plan.strategy == StrategyType::kDPSGD && messages > kMostMessages) {
    return InvalidArgumentError("workers: " + std::to_string(plan.workers) + " under " + Name(plan.strategy) +
                                " send more than 100000 messages at a time");
  }
  return GossipSimulation(plan, request, links, options).Run();
}

}  // namespace weft
