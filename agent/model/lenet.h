// LeNet-5 (LeCun et al. 1998) with ReLU and max-pooling: conv1 6@5x5 padded by 2, pool, conv2 16@5x5, pool, fc1 120,
// fc2 84, fc3. 61,706 weights for 28x28 grey images and 10 classes.
#pragma once

#include <cstdint>
#include <memory>

#include "agent/model/model.h"

namespace weft {

// Height and width are at least 12, so that the last pool leaves something.
std::unique_ptr<Model> MakeLenet(std::int64_t channels, std::int64_t height, std::int64_t width, int classes);

}  // namespace weft
