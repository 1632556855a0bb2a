#include "agent/dataplane/adpsgd_model.h"

#include <algorithm>

#include "common/math/finite.h"

namespace weft {

void AdpsgdModel::Read(std::span<float> into) const {
  const MutexLock lock(mutex_);
  std::ranges::copy(x_, into.begin());
}

void AdpsgdModel::Refresh(std::span<float> weights, std::span<float> snapshot) {
  const MutexLock lock(mutex_);
  if (!averaged_) return;
  std::ranges::copy(x_, weights.begin());
  std::ranges::copy(x_, snapshot.begin());
  averaged_ = false;
}

void AdpsgdModel::Fold(std::span<float> weights, std::span<float> snapshot) {
  const MutexLock lock(mutex_);
  if (averaged_) {
    for (std::size_t i = 0; i < x_.size(); ++i) {
      x_[i] += weights[i] - snapshot[i];
      weights[i] = x_[i];
    }
  } else {
    std::ranges::copy(weights, x_.begin());
  }
  std::ranges::copy(x_, snapshot.begin());
  averaged_ = false;
}

bool AdpsgdModel::AverageWith(std::span<const float> other, std::span<float> before) {
  const MutexLock lock(mutex_);
  if (!AllFinite(x_)) return false;
  for (std::size_t i = 0; i < x_.size(); ++i) {
    before[i] = x_[i];
    x_[i] += (other[i] - x_[i]) * 0.5F;
  }
  averaged_ = true;
  return true;
}

void AdpsgdModel::ApplyReply(std::span<const float> other, std::span<const float> sent) {
  const MutexLock lock(mutex_);
  for (std::size_t i = 0; i < x_.size(); ++i) x_[i] += (other[i] - sent[i]) * 0.5F;
  averaged_ = true;
}

}  // namespace weft
