// The plan's sentence for the person who reads it.
#pragma once

#include <string>

#include "common/plan/plan.h"

namespace weft {

enum class PeriodChoice {
  kGiven,     // by the request
  kSmallest,  // the smallest that stays within the limits
  kBest,      // none does; the best there is
};

// Why this period (of those up to most_period), and whether distributing pays: K workers do K * compute / iteration
// times the work of one alone. Says when compute is the limit, so that more servers would gain nothing. One sentence
// without a full stop inside.
std::string Reason(const Plan& plan, PeriodChoice choice, int most_period);

// The same of a plan without servers: when it exchanges, what that is predicted to cost, and whether it pays.
std::string PeerReason(const Plan& plan);

// Of the plan that Auto took: its figures, and the runner-up's (null: there was none). `fastest`: no other is faster.
std::string AutoReason(const Plan& plan, bool fastest, const Plan* runner_up);

}  // namespace weft
