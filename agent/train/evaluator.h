// Evaluates models on the test split, in batches.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "agent/data/dataset.h"
#include "agent/model/model.h"
#include "common/status.h"

namespace weft {

struct Evaluation {
  double loss = 0;      // mean cross-entropy, nats
  double accuracy = 0;  // share of right predictions, 0 to 1
};

// Called after each batch with how many samples of how many have been evaluated. An error ends the evaluation.
using EvaluationObserver = std::function<Status(std::int64_t samples, std::int64_t of)>;

// The model with its present weights. A data set without a test split gives zeros.
Result<Evaluation> EvaluateOnTestSplit(Model& model, const Dataset& dataset, const EvaluationObserver& observer);

}  // namespace weft
