// The model that an ADPSGD worker averages: shared by the trainer's thread, which adds displacements, and the
// exchanger's, which averages it with others' meanwhile. Each function is one atomic change. Thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/mutex.h"

namespace weft {

class AdpsgdModel {
 public:
  explicit AdpsgdModel(std::span<const float> weights) : x_(weights.begin(), weights.end()) {}

  std::size_t size() const { return size_; }

  // into <- x.
  void Read(std::span<float> into) const WEFT_EXCLUDES(mutex_);
  // weights and snapshot <- x, where they are not of that version already.
  void Refresh(std::span<float> weights, std::span<float> snapshot) WEFT_EXCLUDES(mutex_);
  // x <- x + (weights - snapshot), and weights and snapshot <- x. Where nothing was averaged since the last Refresh or
  // Fold, x <- weights: the same without its rounding.
  void Fold(std::span<float> weights, std::span<float> snapshot) WEFT_EXCLUDES(mutex_);

  // before <- x, x <- x + (other - x) / 2. False: x is not finite, and is left as it is.
  bool AverageWith(std::span<const float> other, std::span<float> before) WEFT_EXCLUDES(mutex_);
  // x <- x + (other - sent) / 2: what the other side's AverageWith took from it, to rounding.
  void ApplyReply(std::span<const float> other, std::span<const float> sent) WEFT_EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  std::vector<float> x_ WEFT_GUARDED_BY(mutex_);
  bool averaged_ WEFT_GUARDED_BY(mutex_) = true;  // since the last Refresh or Fold
  const std::size_t size_ = x_.size();
};

}  // namespace weft
