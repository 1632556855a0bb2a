// Samples in memory. Immutable after loading; any thread may read.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"

namespace weft {

// What a model must fit.
struct SampleShape {
  std::vector<std::int64_t> dimensions;  // {1, 28, 28}: channels, height, width; {length + 1}: tokens
  int classes = 0;                       // 256 for text
  bool text = false;
  std::int64_t size() const {
    std::int64_t product = 1;
    for (const std::int64_t d : dimensions) product *= d;
    return product;
  }
};

enum class Split { kTrain, kTest };

// A gathered batch owns its memory; ready to be viewed as agent/model's Batch.
struct Samples {
  std::int64_t size = 0;
  std::vector<float> inputs;         // [size, shape.size()], normalized; empty for text
  std::vector<std::int32_t> labels;  // [size]; empty for text
  std::vector<std::uint8_t> tokens;  // [size, length + 1]; empty otherwise
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual const SampleShape& shape() const = 0;
  virtual std::int64_t size(Split split) const = 0;
  // Each sample's label; empty where samples have none (text, synthetic).
  virtual std::span<const std::uint8_t> labels(Split) const { return {}; }
  // Copies the samples with these indices, in this order, into `out`, reusing its memory.
  virtual void Gather(Split split, std::span<const std::int64_t> indices, Samples& out) const = 0;
};

}  // namespace weft
