// When a run has diverged: every worker's loss is NaN or infinite, and stays so. A single worker's is no divergence:
// Swarm goes on with that worker's last published model, and others may have one loss that overflows. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace weft {

// Not thread-safe.
class Divergence {
 public:
  struct First {
    int worker = 0;
    std::int64_t iteration = 0;
  };

  explicit Divergence(int workers) : workers_(workers) {}

  // A worker's iterations come in order.
  void Add(int worker, std::int64_t iteration, bool loss_is_finite);

  // Whether each worker's last kBatches losses are not finite.
  bool diverged() const;
  // The first loss of all that was not finite, by iterations; nothing where there was none.
  std::optional<First> first() const { return first_; }

  // One line for the person: who was first, or that the model after `iteration` is not finite, and what to try.
  std::string Cause(std::int64_t iteration, double learning_rate) const;

  static constexpr int kBatches = 10;

 private:
  const int workers_;
  std::map<int, int> streaks_;  // by worker: how many losses up to now are not finite; 0 is left out
  std::optional<First> first_;
};

}  // namespace weft
