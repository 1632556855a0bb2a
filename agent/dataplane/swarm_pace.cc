#include "agent/dataplane/swarm_pace.h"

#include "agent/dataplane/swarm_layout.h"

namespace weft {
namespace {

// About an iteration of the smallest models.
constexpr Duration kLookAgain = std::chrono::milliseconds(1);

}  // namespace

SwarmPace::SwarmPace(const SwarmPaceOptions& options, std::span<const int> neighbours, Registers& registers,
                     Clock& clock)
    : options_(options), registers_(registers), clock_(clock) {
  for (const int rank : neighbours) {
    neighbours_.push_back({.rank = rank, .since = clock.Now(), .look = std::nullopt, .word = nullptr});
  }
}

void SwarmPace::Tell(std::int64_t iteration) {
  StoreWord(registers_.local(), kIterationOffset, static_cast<std::uint64_t>(iteration));
}

void SwarmPace::Await(std::int64_t iteration) {
  if (options_.max_lead == 0) return;
  do {
    for (Neighbour& one : neighbours_) {
      if (IsBehind(one, iteration) && !one.look) Look(one);
    }
    const TimePoint again = clock_.Now() + kLookAgain;
    while (IsAhead(iteration) && clock_.Now() < again) waker_->WaitUntil(again);
  } while (IsAhead(iteration));
}

void SwarmPace::Look(Neighbour& one) {
  one.word = std::make_shared<std::vector<std::byte>>(kWordBytes);
  one.look = SwarmOperation::Get(registers_, one.rank, kIterationOffset, one.word, waker_);
  ++traffic_.operations;
  traffic_.received_bytes += static_cast<std::int64_t>(kWordBytes);
}

void SwarmPace::Take(Neighbour& one, TimePoint now) {
  if (!one.look || !one.look->ended()) return;
  one.gone = !one.look->status().ok();
  one.look.reset();
  if (one.gone) return;
  const auto iteration = static_cast<std::int64_t>(WordAt(*one.word, 0));
  if (iteration == one.iteration) return;
  one.iteration = iteration;
  one.since = now;
}

bool SwarmPace::IsAhead(std::int64_t iteration) {
  const TimePoint now = clock_.Now();
  bool ahead = false;
  for (Neighbour& one : neighbours_) {
    Take(one, now);
    ahead = ahead || (IsBehind(one, iteration) && !one.gone && now - one.since < options_.patience);
  }
  return ahead;
}

}  // namespace weft
