#include "agent/train/evaluator.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace weft {

Result<Evaluation> EvaluateOnTestSplit(Model& model, const Dataset& dataset, const EvaluationObserver& observer) {
  constexpr std::int64_t kBatchSize = 256;
  const std::int64_t size = dataset.size(Split::kTest);
  Samples samples;
  std::vector<std::int64_t> indices;
  BatchResult sum;
  for (std::int64_t first = 0; first < size; first += kBatchSize) {
    indices.resize(static_cast<std::size_t>(std::min(kBatchSize, size - first)));
    std::iota(indices.begin(), indices.end(), first);
    dataset.Gather(Split::kTest, indices, samples);
    WEFT_ASSIGN_OR_RETURN(
        const BatchResult result,
        model.Evaluate(
            {.size = samples.size, .inputs = samples.inputs, .labels = samples.labels, .tokens = samples.tokens}));
    sum.loss_sum += result.loss_sum;
    sum.predictions += result.predictions;
    sum.correct += result.correct;
    WEFT_RETURN_IF_ERROR(observer(first + samples.size, size));
  }
  if (sum.predictions == 0) return Evaluation{};
  const auto predictions = static_cast<double>(sum.predictions);
  return Evaluation{.loss = sum.loss_sum / predictions, .accuracy = static_cast<double>(sum.correct) / predictions};
}

}  // namespace weft
