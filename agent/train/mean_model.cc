#include "agent/train/mean_model.h"

#include <algorithm>
#include <cstddef>

#include "common/check.h"
#include "common/math/finite.h"
#include "common/math/sketch.h"

namespace weft {
namespace {

std::vector<float> PlainMean(std::span<const std::vector<float>> models) {
  std::vector<float> mean(models[0].size());
  for (std::size_t i = 0; i < mean.size(); ++i) {
    double sum = 0;
    for (const std::vector<float>& model : models) sum += static_cast<double>(model[i]);
    mean[i] = static_cast<float>(sum / static_cast<double>(models.size()));
  }
  return mean;
}

}  // namespace

MeanModel MeanOf(std::span<const std::vector<float>> models) {
  WEFT_CHECK(!models.empty()) << "no models";
  MeanModel result;
  for (std::size_t i = 0; i < models.size(); ++i) {
    WEFT_CHECK(models[i].size() == models[0].size()) << "model " << i << " has another size";
    if (!AllFinite(models[i])) result.not_finite.push_back(static_cast<int>(i));
  }
  std::vector<std::vector<float>> finite;  // copied only where some are not
  if (!result.not_finite.empty() && result.not_finite.size() < models.size()) {
    for (std::size_t i = 0; i < models.size(); ++i) {
      if (!std::ranges::binary_search(result.not_finite, static_cast<int>(i))) finite.push_back(models[i]);
    }
    models = finite;
  }
  result.weights = PlainMean(models);
  result.variance = ModelVariance(models);
  return result;
}

}  // namespace weft
