#include "coordinator/service/divergence.h"

#include <algorithm>
#include <sstream>

namespace weft {

void Divergence::Add(int worker, std::int64_t iteration, bool loss_is_finite) {
  if (loss_is_finite) {
    streaks_.erase(worker);
    return;
  }
  ++streaks_[worker];
  if (!first_.has_value() || iteration < first_->iteration) first_ = First{.worker = worker, .iteration = iteration};
}

bool Divergence::diverged() const {
  return static_cast<int>(streaks_.size()) == workers_ &&
         std::ranges::all_of(streaks_, [](const auto& streak) { return streak.second >= kBatches; });
}

std::string Divergence::Cause(std::int64_t iteration, double learning_rate) const {
  std::ostringstream text;
  text << "the run has diverged: ";
  if (first_.has_value()) {
    text << "the first loss that is not a finite number was worker " << first_->worker << "'s, in iteration "
         << first_->iteration;
  } else {
    text << "the model is not finite after iteration " << iteration;
  }
  text << "; no model is saved. Try a training.optimizer.learningRate below " << learning_rate
       << ", or longer training.schedule.warmupEpochs";
  return text.str();
}

}  // namespace weft
