// `weft bench model`: per model, images or tokens per second of training steps (forward, loss, backward) on one thread,
// and the share of the step that bare Eigen products of the same shapes take. Above 1 the step is faster than they are.
#pragma once

#include <string>

#include "common/status.h"

namespace weft {

struct BenchModelOptions {
  std::string model;     // empty: all
  int batch = 0;         // 0: the model's default
  double seconds = 2.0;  // for each model; steps and products in turns
  bool json = false;
};

// Prints to stdout. INVALID_ARGUMENT: an unknown model.
Status BenchModel(const BenchModelOptions& options);

}  // namespace weft
