// Injected delays and losses that depend on the message alone, and not on when or by which thread they are drawn: a run
// with one seed meets the same ones again.
#pragma once

#include <cstdint>

#include "agent/transport/tag.h"
#include "common/clock.h"

namespace weft {

// Uniform in [0, longest], for the message number `index` from `from` to `to` with `tag`.
Duration RandomDelay(Duration longest, std::uint64_t seed, int from, int to, Tag tag, std::int64_t index);

// Whether that message is lost, which it is with `probability`.
bool RandomLoss(double probability, std::uint64_t seed, int from, int to, Tag tag, std::int64_t index);

}  // namespace weft
