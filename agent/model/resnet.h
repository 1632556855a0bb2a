// The residual networks for small images of He et al. 2015, section 4.2: a 3x3 convolution, three stages of basic
// blocks with 16, 32 and 64 channels, the mean over the plane, a linear layer. Shortcuts have no parameters: where the
// channels double, every other row and column is taken and zero channels are put around (option A). ResNet-20 has 3
// blocks a stage: 269,722 weights and 1,376 running statistics for 3 channels and 10 classes.
//
// A layer is a convolution with its normalization, and the linear one at the end.
#pragma once

#include <cstdint>
#include <memory>

#include "agent/model/model.h"

namespace weft {

struct ResnetShape {
  std::int64_t channels = 3;
  std::int64_t height = 32;
  std::int64_t width = 32;
  int classes = 10;
  std::int64_t first_width = 16;  // channels of the first stage
  int blocks = 3;                 // a stage
};

// All values are at least 1.
std::unique_ptr<Model> MakeResnet(const ResnetShape& shape);

}  // namespace weft
