#include "agent/train/optimizer.h"

#include <algorithm>
#include <utility>

#include "agent/core/update_rule.h"
#include "agent/model/model.h"

namespace weft {

Optimizer::Optimizer(const OptimizerSpec& spec, std::span<float> weights, std::span<const float> gradients,
                     std::function<double(std::int64_t)> learning_rate, std::vector<FloatRange> running_statistics)
    : spec_(spec),
      weights_(weights),
      gradients_(gradients),
      learning_rate_(std::move(learning_rate)),
      running_statistics_(std::move(running_statistics)) {
  const bool adam = spec.type == OptimizerType::kAdamW;
  if (adam || spec.momentum != 0) first_.resize(weights.size());
  if (adam) second_.resize(weights.size());
}

void Optimizer::Step(FloatRange range, std::int64_t iteration) {
  const std::int64_t end = range.first + range.count;
  std::int64_t at = range.first;
  for (const FloatRange& statistic : running_statistics_) {
    const std::int64_t from = std::clamp(statistic.first, at, end);
    const std::int64_t to = std::clamp(statistic.first + statistic.count, at, end);
    if (from == to) continue;
    if (at < from) StepWeights({at, from - at}, iteration);
    StepStatistics({from, to - from});
    at = to;
  }
  if (at < end) StepWeights({at, end - at}, iteration);
}

void Optimizer::StepStatistics(FloatRange range) {
  const auto first = static_cast<std::size_t>(range.first);
  const auto count = static_cast<std::size_t>(range.count);
  AddScaledInto(weights_.subspan(first, count), gradients_.subspan(first, count), -kStatisticRate);
}

void Optimizer::StepWeights(FloatRange range, std::int64_t iteration) {
  const auto first = static_cast<std::size_t>(range.first);
  const auto count = static_cast<std::size_t>(range.count);
  const auto part = [&](auto& values) { return std::span(values).subspan(first, count); };
  const double rate = learning_rate_(iteration);
  if (spec_.type == OptimizerType::kAdamW) {
    AdamWStep(part(weights_), part(gradients_), part(first_), part(second_),
              {.learning_rate = rate,
               .beta1 = spec_.beta1,
               .beta2 = spec_.beta2,
               .epsilon = spec_.epsilon,
               .weight_decay = spec_.weight_decay},
              iteration - reset_at_);
    return;
  }
  // A velocity of zeros makes the first step equal to every other, so the rule needs no special case here.
  SgdStep(part(weights_), part(gradients_), first_.empty() ? std::span<float>() : part(first_),
          {.learning_rate = static_cast<float>(rate),
           .momentum = static_cast<float>(spec_.momentum),
           .weight_decay = static_cast<float>(spec_.weight_decay)},
          /*first_step=*/false);
}

void Optimizer::Reset(std::int64_t iteration) {
  reset_at_ = iteration;
  std::ranges::fill(first_, 0.0F);
  std::ranges::fill(second_, 0.0F);
}

std::vector<Optimizer::Slot> Optimizer::state() {
  std::vector<Slot> slots;
  const bool adam = spec_.type == OptimizerType::kAdamW;
  if (!first_.empty()) slots.push_back({adam ? "first_moment" : "momentum", first_});
  if (!second_.empty()) slots.push_back({"second_moment", second_});
  return slots;
}

}  // namespace weft
