#include "agent/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft {

double LearningRate(const TrainingSpec& training, std::int64_t iterations_per_epoch, std::int64_t total_iterations,
                    std::int64_t iteration) {
  const double base = training.optimizer.learning_rate;
  const ScheduleSpec& schedule = training.schedule;
  const auto per_epoch = static_cast<double>(iterations_per_epoch);
  const double warmup_iterations = schedule.warmup_epochs * per_epoch;
  if (static_cast<double>(iteration) < warmup_iterations)
    return base * static_cast<double>(iteration) / warmup_iterations;

  const double epoch = static_cast<double>(iteration - 1) / per_epoch;
  switch (schedule.type) {
    case ScheduleType::kConstant:
      return base;
    case ScheduleType::kStep: {
      const auto passed = std::count_if(schedule.step_epochs.begin(), schedule.step_epochs.end(),
                                        [epoch](double step) { return step <= epoch; });
      return base * std::pow(schedule.step_factor, static_cast<double>(passed));
    }
    case ScheduleType::kCosine: {
      const double length = static_cast<double>(total_iterations) - warmup_iterations;
      if (length <= 0) return base;
      const double progress = (static_cast<double>(iteration - 1) - warmup_iterations) / length;
      return base * 0.5 * (1 + std::cos(std::numbers::pi * std::clamp(progress, 0.0, 1.0)));
    }
  }
  return base;
}

}  // namespace weft
