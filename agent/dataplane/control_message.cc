#include "agent/dataplane/control_message.h"

#include <string>

namespace weft {
namespace {

constexpr std::uint32_t kMagic = 0x53504657;  // "WFPS"
constexpr std::uint8_t kVersion = 1;

template <typename T>
void Put(ControlBuffer& bytes, std::size_t at, T value) {
  const auto bits = static_cast<std::uint64_t>(value);
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes[at + i] = static_cast<std::byte>((bits >> (8 * i)) & 0xff);
}

template <typename T>
T Get(std::span<const std::byte, kControlBytes> bytes, std::size_t at) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) bits |= std::to_integer<std::uint64_t>(bytes[at + i]) << (8 * i);
  return static_cast<T>(bits);
}

}  // namespace

ControlBuffer EncodeControl(const ControlMessage& message) {
  ControlBuffer bytes{};
  Put(bytes, 0, kMagic);
  Put(bytes, 4, kVersion);
  Put(bytes, 5, static_cast<std::uint8_t>(message.kind));
  Put(bytes, 6, static_cast<std::uint8_t>(message.last ? 1 : 0));
  Put(bytes, 7, static_cast<std::uint8_t>(message.code));
  Put(bytes, 8, message.generation);
  Put(bytes, 16, message.shard);
  Put(bytes, 20, message.rank);
  Put(bytes, 24, message.round);
  Put(bytes, 32, message.iteration);
  Put(bytes, 40, message.samples);
  Put(bytes, 48, static_cast<std::int64_t>(message.time.count()));
  Put(bytes, 56, static_cast<std::int64_t>(message.staleness_wait.count()));
  return bytes;
}

Result<ControlMessage> DecodeControl(std::span<const std::byte, kControlBytes> bytes) {
  if (Get<std::uint32_t>(bytes, 0) != kMagic) return DataLossError("control message: no magic number WFPS");
  if (const int version = Get<std::uint8_t>(bytes, 4); version != kVersion) {
    return DataLossError("control message: version " + std::to_string(version) + " is not " + std::to_string(kVersion));
  }
  const int kind = Get<std::uint8_t>(bytes, 5);
  if (kind < 1 || kind > 7) return DataLossError("control message: unknown kind " + std::to_string(kind));
  ControlMessage message;
  message.kind = static_cast<ControlKind>(kind);
  message.last = Get<std::uint8_t>(bytes, 6) != 0;
  message.code = static_cast<StatusCode>(Get<std::uint8_t>(bytes, 7));
  message.generation = Get<std::uint64_t>(bytes, 8);
  message.shard = Get<std::int32_t>(bytes, 16);
  message.rank = Get<std::int32_t>(bytes, 20);
  message.round = Get<std::int64_t>(bytes, 24);
  message.iteration = Get<std::int64_t>(bytes, 32);
  message.samples = Get<std::int64_t>(bytes, 40);
  message.time = Duration(Get<std::int64_t>(bytes, 48));
  message.staleness_wait = Duration(Get<std::int64_t>(bytes, 56));
  return message;
}

}  // namespace weft
