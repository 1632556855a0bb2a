#include "common/plan/plan.h"

namespace weft {

int PhaseOf(PhaseRule rule, int period, int group) {
  const int residue = group % period;
  return rule == PhaseRule::kFormula ? residue : (period - residue) % period;
}

int GroupPhase(const Plan& plan, int group) {
  return plan.strategy == StrategyType::kInterleavedPS ? PhaseOf(plan.phase, plan.period, group) : 0;
}

int SlotOf(int worker, std::int64_t round, int server, int workers, int servers) {
  const std::int64_t ahead = static_cast<std::int64_t>(server) * workers / servers;
  return static_cast<int>((worker + workers - round % workers + ahead) % workers);
}

bool Synchronizes(PhaseRule rule, int period, int group, std::int64_t iteration) {
  return iteration % period == PhaseOf(rule, period, group);
}

std::int64_t RoundsThrough(PhaseRule rule, int period, int group, std::int64_t iteration) {
  // Iterations t in [1, iteration] with t mod T = phase; phase 0 first comes at t = T.
  const int phase = PhaseOf(rule, period, group);
  const int first = phase == 0 ? period : phase;
  return iteration < first ? 0 : (iteration - first) / period + 1;
}

}  // namespace weft
