// Labelled images of unsigned bytes, as IDX and CIFAR files hold them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "agent/data/dataset.h"

namespace weft {

struct ImageSplit {
  std::vector<std::uint8_t> pixels;  // [size, channels, height, width]
  std::vector<std::uint8_t> labels;  // [size], each below the shape's classes
};

// Keeps the bytes and normalizes while gathering: a pixel v of channel c becomes (v/255 - mean_c) / deviation_c, with
// the mean and the standard deviation of that channel over the training split. Both come from a histogram in integers
// and doubles, so they are the same bits on every machine. A channel of one value only has deviation 1.
class ImageDataset : public Dataset {
 public:
  ImageDataset(SampleShape shape, ImageSplit train, ImageSplit test);

  const SampleShape& shape() const override { return shape_; }
  std::int64_t size(Split split) const override { return std::ssize(of(split).labels); }
  std::span<const std::uint8_t> labels(Split split) const override { return of(split).labels; }
  void Gather(Split split, std::span<const std::int64_t> indices, Samples& out) const override;

 private:
  const ImageSplit& of(Split split) const { return split == Split::kTrain ? train_ : test_; }

  const SampleShape shape_;
  const ImageSplit train_;
  const ImageSplit test_;
  const std::vector<std::array<float, 256>> normalized_;  // by channel and byte
};

}  // namespace weft
