// The tag of a point-to-point message: what it is for (kind), which shard, bucket or register it is about (channel),
// and the round modulo 256, packed into the 23 bits that the smallest of Open MPI's components carries (UCX: 8388607).
#pragma once

#include <cstdint>

#include "common/check.h"

namespace weft {

enum class MessageKind : std::uint8_t {
  kControl = 0,   // requests, grants
  kPush = 1,      // worker to server
  kPull = 2,      // server to worker
  kState = 3,     // checkpoints, initial weights, centres for evaluation
  kProbe = 4,     // link measurement
  kRegister = 5,  // requests for a register of the receiver's, and the answers
  kPeer = 6,      // models and weights between workers
  kReduce = 7,    // parts of a sum over all workers
};

class Tag {
 public:
  static constexpr int kChannelBits = 12;
  static constexpr int kRoundBits = 8;
  static constexpr int kMaxChannel = (1 << kChannelBits) - 1;
  static constexpr int kMaxValue = (1 << 23) - 1;

  // Checks that channel is in [0, 4095] and that round is not negative. Messages of one sender, receiver and tag keep
  // their order, so 256 rounds in flight are more than any staleness bound allows.
  constexpr Tag(MessageKind kind, int channel, std::int64_t round)
      : value_((static_cast<int>(kind) << (kChannelBits + kRoundBits)) | (channel << kRoundBits) |
               static_cast<int>(round & 0xff)) {
    WEFT_CHECK(channel >= 0 && channel <= kMaxChannel) << "channel " << channel;
    WEFT_CHECK(round >= 0) << "round " << round;
  }

  constexpr int value() const { return value_; }
  friend constexpr bool operator==(Tag, Tag) = default;

 private:
  int value_;
};

}  // namespace weft
