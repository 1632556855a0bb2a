// A multi-layer perceptron: linear layers fc1, fc2, … with a ReLU after each but the last.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "agent/model/model.h"

namespace weft {

// `hidden_sizes` may be empty: then it is logistic regression. All sizes are at least 1.
std::unique_ptr<Model> MakeMlp(std::int64_t inputs, const std::vector<int>& hidden_sizes, int classes);

}  // namespace weft
