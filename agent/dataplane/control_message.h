// The 64 bytes that two ranks exchange beside the payloads; docs/format/parameter-server-messages.md shows
// them byte by byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/clock.h"
#include "common/status.h"

namespace weft {

enum class ControlKind : std::uint8_t {
  kRequest = 1,  // worker: my slot begins (interleaved), or my gradient follows (synchronous)
  kGrant = 2,    // server: the pull follows; with admission, also: push now
  kGoodbye = 3,  // worker: nothing of this plan follows; server: seen
  kFailure = 4,  // I end with `code` because of `rank`
  // Among the workers of a strategy without servers, beside goodbye and failure.
  kBarrier = 5,  // I have come to barrier number `round`
  kQuery = 6,    // how many sums have you begun?
  kAnswer = 7,   // `round` of them
};

struct ControlMessage {
  ControlKind kind = ControlKind::kRequest;
  bool last = false;  // request: of the synchronization that ends the run; goodbye: of the run, not of the plan
  StatusCode code = StatusCode::kOk;
  std::uint64_t generation = 0;
  std::int32_t shard = 0;
  std::int32_t rank = -1;  // failure: the rank at fault; -1: none
  std::int64_t round = 0;
  std::int64_t iteration = 0;
  std::int64_t samples = 0;   // request: of this worker's batch; grant: of all batches (synchronous)
  Duration time{};            // request: since the worker's iteration began; grant: correction of its slots
  Duration staleness_wait{};  // grant: how long the request waited for the round before
};

constexpr std::size_t kControlBytes = 64;
using ControlBuffer = std::array<std::byte, kControlBytes>;

ControlBuffer EncodeControl(const ControlMessage& message);

// DATA_LOSS: another magic number, version or kind.
Result<ControlMessage> DecodeControl(std::span<const std::byte, kControlBytes> bytes);

}  // namespace weft
