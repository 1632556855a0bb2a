#include "agent/dataplane/shard_rounds.h"

#include <utility>

#include "agent/core/update_rule.h"
#include "common/check.h"

namespace weft {
namespace {

std::span<float> Part(std::vector<float>& values, std::int64_t from, std::int64_t to) {
  return std::span<float>(values).subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from));
}

}  // namespace

ShardRounds::ShardRounds(const Rule& rule, std::vector<float> initial, std::int64_t rounds)
    : rule_(rule),
      pool_(std::make_shared<FloatPool>(initial.size())),
      rounds_(rounds),
      committed_(pool_->Share(std::move(initial))),
      pushes_(static_cast<std::size_t>(rule.workers)) {}

int ShardRounds::WorkerAt(int place) const { return static_cast<int>((place + rounds_) % rule_.workers); }

std::span<float> ShardRounds::BeginPush(int worker, std::int64_t samples) {
  WEFT_CHECK(!HasPush(worker)) << "worker " << worker << " pushes twice in round " << rounds_;
  Push& push = pushes_[static_cast<std::size_t>(worker)];
  push = {.values = pool_->Take(), .received = 0, .samples = samples};
  return push.values;
}

bool ShardRounds::Received(int worker, std::int64_t floats) {
  pushes_[static_cast<std::size_t>(worker)].received = floats;
  while (place_ < rule_.workers) {
    const Push& next = pushes_[static_cast<std::size_t>(WorkerAt(place_))];
    if (next.values.empty()) return false;
    if (next.received > folded_) {
      Fold(place_, folded_, next.received);
      folded_ = next.received;
    }
    if (folded_ < count()) return false;
    ++place_;
    folded_ = 0;
  }
  return true;
}

// Adds floats [from, to) of the place's push to the sum; the last place's also end the round there.
void ShardRounds::Fold(int place, std::int64_t from, std::int64_t to) {
  std::vector<float>& sum_values = pushes_[static_cast<std::size_t>(WorkerAt(0))].values;
  Push& push = pushes_[static_cast<std::size_t>(WorkerAt(place))];
  const std::span<float> sum = Part(sum_values, from, to);
  const std::span<float> values = Part(push.values, from, to);
  if (rule_.elastic) {
    if (place > 0) AddInto(sum, values);
  } else if (place == 0) {
    ScaleInPlace(sum, static_cast<float>(push.samples));
  } else {
    AddScaledInto(sum, values, static_cast<float>(push.samples));
  }
  if (place + 1 < rule_.workers) return;
  if (rule_.elastic) {
    const auto centre = std::span<const float>(*committed_)
                            .subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from));
    CommitCentre(sum, centre, rule_.workers, rule_.center_rate);
  } else {
    std::int64_t samples = 0;
    for (const Push& p : pushes_) samples += p.samples;
    if (samples > 0) DivideInPlace(sum, static_cast<float>(samples));
  }
}

std::int64_t ShardRounds::Commit() {
  WEFT_CHECK(place_ == rule_.workers) << "round " << rounds_ << " is at place " << place_;
  std::vector<float> sum = std::move(pushes_[static_cast<std::size_t>(WorkerAt(0))].values);
  std::int64_t samples = 0;
  for (Push& push : pushes_) {
    samples += push.samples;
    if (!push.values.empty()) pool_->Give(std::move(push.values));
    push = {};
  }
  committed_ = pool_->Share(std::move(sum));
  ++rounds_;
  place_ = 0;
  folded_ = 0;
  return samples;
}

}  // namespace weft
