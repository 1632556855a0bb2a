#include "coordinator/planner/reason.h"

#include <cctype>
#include <cstdio>

#include "common/plan/names.h"
#include "common/plan/table.h"
#include "coordinator/planner/auto_plan.h"
#include "coordinator/planner/planner.h"

namespace weft {
namespace {

std::string Fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string Figures(const Plan& plan, double stall) {
  return "a predicted stall of " + ShowPercent(stall) + " of compute with the busiest link busy for " +
         ShowPercent(plan.link_use) + " of the time";
}

std::string Gain(const Plan& plan) {
  const double gain = plan.workers * plan.compute_us / plan.iteration_us;
  return std::to_string(plan.workers) + " workers do " + Fixed(gain, gain < 10 ? 2 : 1) +
         " times the work of one alone" + (gain <= 1 ? ", so distributing does not pay" : "");
}

std::string WhyPeriod(const Plan& plan, PeriodChoice choice, int most_period, double stall) {
  const std::string figures = Figures(plan, stall);
  const std::string period = "T = " + std::to_string(plan.period);
  if (plan.strategy != StrategyType::kInterleavedPS) {
    return "every group is sent in every iteration, with " + figures;
  }
  switch (choice) {
    case PeriodChoice::kGiven:
      return period + " was asked for and has " + figures;
    case PeriodChoice::kSmallest:
      return period + " is the smallest period within " + ShowPercent(kMaxStallShare) + " stall and " +
             ShowPercent(kMaxLinkUse) + " link use, with " + figures;
    case PeriodChoice::kBest:
      return "no period up to " + std::to_string(most_period) + " stays within " + ShowPercent(kMaxStallShare) +
             " stall and " + ShowPercent(kMaxLinkUse) + " link use, and " + period + " comes nearest with " + figures;
  }
  return period;
}

// "H = 4", with what comes before it; empty where there is none.
std::string Setting(const Plan& plan, const char* before) {
  switch (plan.strategy) {
    case StrategyType::kInterleavedPS:
      return before + ("T = " + std::to_string(plan.period));
    case StrategyType::kLocalSGD:
    case StrategyType::kSwarm:
      return before + ("H = " + std::to_string(plan.period));
    default:
      return "";
  }
}

std::string WhatIsExchanged(const Plan& plan) {
  const std::string steps = plan.period == 1 ? "every step" : "every " + std::to_string(plan.period) + " steps";
  switch (plan.strategy) {
    case StrategyType::kAllReduce:
      return "every gradient is summed over the ring in every iteration";
    case StrategyType::kLocalSGD:
      return "the weights are averaged over all workers after " + steps;
    case StrategyType::kSwarm:
      return "each worker averages with another after " + steps + ", " +
             (plan.quantization_bits == 0 ? "in floats" : "in " + std::to_string(plan.quantization_bits) + " bits");
    case StrategyType::kADPSGD:
      return "each worker averages with a neighbour beside every step";
    case StrategyType::kSGP:
      return "each worker pushes its weights to a neighbour in every iteration";
    default:
      return "each worker averages with its neighbours in every iteration";
  }
}

}  // namespace

std::string Reason(const Plan& plan, PeriodChoice choice, int most_period) {
  if (plan.workers == 1) return "One worker exchanges nothing, so the period does not matter.";
  const double stall = plan.iteration_us / plan.compute_us - 1;
  std::string text = WhyPeriod(plan, choice, most_period, stall);
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  text += "; " + Gain(plan);
  if (plan.workers * plan.compute_us <= plan.iteration_us) return text + ".";
  if (stall <= kMaxStallShare) {
    const bool longer = choice == PeriodChoice::kSmallest && plan.period > 1;
    text += std::string(", and compute is the limit: more servers would ") +
            (longer ? "only shorten the period" : "gain nothing");
  } else if (plan.link_use > kMaxLinkUse) {
    text += ", and the network is the limit: more servers, a longer period or a faster link would help";
  } else {
    text += ", and waiting for transfers is the limit";
  }
  return text + ".";
}

std::string AutoReason(const Plan& plan, bool fastest, const Plan* runner_up) {
  if (plan.workers == 1) return "One worker exchanges nothing.";
  std::string text = std::string(Name(plan.strategy)) + Setting(plan, ", ") + ": " +
                     ShowMicroseconds(plan.iteration_us) + " an iteration, " +
                     Fixed(plan.iteration_us / plan.compute_us, 2) + " of compute";
  if (!fastest) text += ", within " + ShowPercent(kNearTie) + " of the fastest and less stale";
  if (runner_up != nullptr) {
    text += "; the runner-up, " + std::string(Name(runner_up->strategy)) + Setting(*runner_up, " with ") + ", " +
            ShowMicroseconds(runner_up->iteration_us);
  }
  return text + "; " + Gain(plan) + ".";
}

std::string PeerReason(const Plan& plan) {
  if (plan.workers == 1) return "One worker exchanges nothing.";
  std::string text = WhatIsExchanged(plan);
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ", with " + Figures(plan, plan.iteration_us / plan.compute_us - 1) + "; " + Gain(plan) + ".";
}

}  // namespace weft
