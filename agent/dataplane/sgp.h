// SGP: stochastic gradient push (Assran et al. 2019, Algorithm 1, and Algorithm 2 with its overlap tau). Push-sum: each
// worker has x and a weight w (at first the model and 1), and what the model holds, and gradients are taken at, is
// z = x / w. In iteration t, with d the displacement of any optimizer's local step on z, which stands for -gamma g(z):
//   x <- x + d
//   send (x/2, w/2) to its next neighbour of the overlay in turn;  x <- x/2,  w <- w/2
//   add what others sent in iteration t - tau to x and w;   z <- x / w
// The mixing matrix is column-stochastic: it conserves sum_i x_i and sum_i w_i = P, each with what is under way. tau =
// 0 waits in each iteration for what was sent in it; otherwise a message has tau iterations of compute to arrive in.
// What is early still counts from t + tau on, not before (Algorithm 2 takes it when it comes, and sends every tau-th
// iteration only): so a run repeats bit for bit.
//
// Lost messages (a Send that ends with UNAVAILABLE though the receiver lives): the sender takes (x/2, w/2) back, when
// it would have waited for it, and puts an empty message, sent until it is there, in its place; the receiver that finds
// one of another size than the model's adds nothing. Neither hangs, and no mass is lost.
//
// After a death the weights under way with the dead rank are gone, and w no longer says whose share is whose. So the
// survivors start anew: whenever a call fails the model holds z, or z and a part of a local step, and a new plane on it
// starts from x = z, w = 1. RestoreState without tensors does the same.
//
// SlowMo, where it is worn: every slow_period iterations on z, each worker with its own u; x <- w z then.
//
// Per iteration and worker: 1 message of M + 4 bytes out, M the model's, and on average one in. Memory: M, and (tau +
// 1) (M + 4) each for what is sent and what is received. One thread calls.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "agent/dataplane/peer_worker.h"
#include "agent/dataplane/slow_momentum.h"

namespace weft {

class SgpWorker : public PeerWorker {
 public:
  explicit SgpWorker(const PeerPlaneParts& parts);

  Status BeginIteration(std::int64_t iteration) override;
  Status GradientReady(int layer, std::int64_t samples) override;
  Result<IterationRecord> EndIteration() override;
  // "sgp_x", "sgp_w", and each message that has come and does not count yet, "sgp_in_<iteration>_<sender>": x/2, w/2.
  std::vector<PlaneTensor> SaveState() const override;
  Status RestoreState(std::int64_t iteration, const std::vector<PlaneTensor>& tensors) override;

 protected:
  // Waits for all messages to have come. They go on counting when they would have.
  Status SettleAll() override;
  // Nothing follows: all count.
  Status Conclude() override;

 private:
  using Floats = std::shared_ptr<std::vector<float>>;  // x/2, and w/2 behind it
  struct Message {
    std::int64_t iteration = 0;
    int peer = 0;
    Floats halves;
    PeerExchange::Handle handle;  // null: it has come
  };

  void Push();
  // Those of iterations up to `through`: takes lost ones back, adds the received.
  Status SettleSent(std::int64_t through);
  Status AbsorbReceived(std::int64_t through);
  // False: it was lost, and came empty.
  Result<bool> Arrived(const Message& message);
  void Absorb(const std::vector<float>& halves);
  void ShowEstimate();
  Floats TakeBuffer();

  const Topology topology_;
  std::vector<float> x_;
  float w_ = 1;
  std::deque<Message> sent_;      // by iteration
  std::deque<Message> received_;  // by iteration, then sender
  std::vector<Floats> free_;
  std::optional<SlowMomentum> slow_;
};

// Those that send to `node` in an iteration (common/math/push_sum.h), ascending.
std::vector<int> SgpSenders(const Topology& topology, int node, std::int64_t iteration);

}  // namespace weft
