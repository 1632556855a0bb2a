// The mean of the workers' models, which is what is evaluated and saved where each worker holds its own, and how far
// they are apart.
#pragma once

#include <span>
#include <vector>

namespace weft {

struct MeanModel {
  std::vector<float> weights;   // over the models of which every weight is finite; over all, when none is
  double variance = 0;          // Gamma over the same models: sum_i |X_i - mean|^2
  std::vector<int> not_finite;  // by index, the models left out
};

// One model at least, all of one size. O(models * size), summed in double.
MeanModel MeanOf(std::span<const std::vector<float>> models);

}  // namespace weft
