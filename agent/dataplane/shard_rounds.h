// One shard's rounds on its server: the pushes of the round that is being built are added up in a fixed order, whatever
// the order in which they arrive, and the committed values stay whole until all are in.
//
// Interleaved: order of the round's slots, rank (place + round) mod K;
//   committed <- (1 - center_rate) committed + center_rate (sum / K).
// Synchronous: the same order; committed <- sum_k samples_k gradient_k / sum_k samples_k.
// Pure; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "agent/dataplane/float_pool.h"

namespace weft {

class ShardRounds {
 public:
  struct Rule {
    int workers = 1;
    bool elastic = true;    // else the weighted mean
    float center_rate = 0;  // elastic
  };
  ShardRounds(const Rule& rule, std::vector<float> initial, std::int64_t rounds);

  // How many rounds are committed: the number of the round that is being built.
  std::int64_t rounds() const { return rounds_; }
  const SharedFloats& committed() const { return committed_; }
  std::int64_t count() const { return static_cast<std::int64_t>(committed_->size()); }

  // The worker's push of this round begins: its values will be written to the returned span, in order, each worker's
  // once. `samples` weighs a gradient.
  std::span<float> BeginPush(int worker, std::int64_t samples);
  bool HasPush(int worker) const { return !pushes_[static_cast<std::size_t>(worker)].values.empty(); }

  // The first `floats` of the worker's push are in. Adds up what can be; true when the round is complete.
  bool Received(int worker, std::int64_t floats);

  // The round is complete: its result becomes the committed values, rounds() moves on. Returns all workers' samples.
  std::int64_t Commit();

 private:
  struct Push {
    std::vector<float> values;
    std::int64_t received = 0;
    std::int64_t samples = 0;
  };
  int WorkerAt(int place) const;
  void Fold(int place, std::int64_t from, std::int64_t to);

  Rule rule_;
  std::shared_ptr<FloatPool> pool_;
  std::int64_t rounds_;
  SharedFloats committed_;
  std::vector<Push> pushes_;  // by worker, of this round; empty: not begun. The first place's is the sum
  int place_ = 0;             // whose push is being added; those before it are in the sum whole
  std::int64_t folded_ = 0;   // floats of it that are
};

}  // namespace weft
