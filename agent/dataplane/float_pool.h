// Buffers of one size, used again: a fresh one of some megabytes costs more in page faults than the sum written to it.
// Thread-safe: snapshots may be dropped by whoever holds them last.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "common/mutex.h"

namespace weft {

using SharedFloats = std::shared_ptr<const std::vector<float>>;

class FloatPool : public std::enable_shared_from_this<FloatPool> {
 public:
  explicit FloatPool(std::size_t count) : count_(count) {}

  // `count` floats of any value.
  std::vector<float> Take() WEFT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (free_.empty()) return std::vector<float>(count_);
    std::vector<float> buffer = std::move(free_.back());
    free_.pop_back();
    return buffer;
  }
  void Give(std::vector<float> buffer) WEFT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    free_.push_back(std::move(buffer));
  }
  // The last holder gives the buffer back.
  SharedFloats Share(std::vector<float> values) {
    auto* owned = new std::vector<float>(std::move(values));
    return {owned, [pool = shared_from_this()](std::vector<float>* v) {
              pool->Give(std::move(*v));
              delete v;
            }};
  }

 private:
  const std::size_t count_;
  Mutex mutex_;
  std::vector<std::vector<float>> free_ WEFT_GUARDED_BY(mutex_);
};

}  // namespace weft
