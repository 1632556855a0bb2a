// The tags of the messages behind registers (MessageKind::kRegister). Each set of registers that was made over a
// transport, an instance, has channels of its own.
#pragma once

#include "agent/transport/tag.h"

namespace weft {

enum class RegisterChannel {
  kRequest = 0,
  kAnswer = 1,
  kData = 2,       // of a Put
  kAgreement = 3,  // while they are made
};

constexpr int kMaxRegisterInstance = 1000;

constexpr Tag RegisterTag(int instance, RegisterChannel channel, int round) {
  return Tag(MessageKind::kRegister, instance * 4 + static_cast<int>(channel), round);
}

// For the ranks, whose number tells their meetings from those of others, to agree on an instance.
constexpr Tag RegisterInstanceTag(int ranks) { return Tag(MessageKind::kRegister, Tag::kMaxChannel, ranks); }
static_assert(kMaxRegisterInstance * 4 + 3 < Tag::kMaxChannel);

}  // namespace weft
