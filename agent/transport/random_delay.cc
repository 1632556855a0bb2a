#include "agent/transport/random_delay.h"

#include "common/math/mix64.h"

namespace weft {
namespace {

std::uint64_t Mix(std::uint64_t state, std::uint64_t value) { return Mix64(state + kMixStep + value); }

std::uint64_t Draw(std::uint64_t seed, int from, int to, Tag tag, std::int64_t index) {
  std::uint64_t state = seed;
  for (const std::int64_t value : {std::int64_t{from}, std::int64_t{to}, std::int64_t{tag.value()}, index}) {
    state = Mix(state, static_cast<std::uint64_t>(value));
  }
  return state;
}

}  // namespace

Duration RandomDelay(Duration longest, std::uint64_t seed, int from, int to, Tag tag, std::int64_t index) {
  if (longest <= Duration::zero()) return Duration::zero();
  const std::uint64_t draw = Draw(seed, from, to, tag, index);
  return Duration(static_cast<Duration::rep>(draw % static_cast<std::uint64_t>(longest.count() + 1)));
}

bool RandomLoss(double probability, std::uint64_t seed, int from, int to, Tag tag, std::int64_t index) {
  if (probability <= 0) return false;
  // Another seed than the delays', with which losses would otherwise go together.
  const std::uint64_t draw = Draw(Mix(seed, 1), from, to, tag, index);
  return static_cast<double>(draw >> 11) * 0x1p-53 < probability;
}

}  // namespace weft
