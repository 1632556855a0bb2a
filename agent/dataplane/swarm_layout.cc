#include "agent/dataplane/swarm_layout.h"

#include <array>
#include <bit>
#include <cstring>

#include "common/check.h"

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kLineBytes = 64;
// Odd, with about as many ones as zeros.
constexpr std::uint64_t kFactor = 0x9fb21c651e98df25;

constexpr std::size_t WholeLines(std::size_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes; }

std::uint64_t Mix(std::uint64_t sum, std::uint64_t word) { return std::rotl(sum ^ word, 29) * kFactor; }

}  // namespace

// Four sums side by side, since one would wait for each multiplication before the next.
std::uint64_t SwarmChecksum(std::uint64_t start, std::span<const std::byte> words) {
  std::array<std::uint64_t, 4> sums = {start, start + kFactor, start ^ kFactor, ~start};
  std::size_t at = 0;
  for (; at + 32 <= words.size(); at += 32) {
    for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] = Mix(sums[lane], WordAt(words, at + 8 * lane));
  }
  for (; at < words.size(); at += 8) sums[0] = Mix(sums[0], WordAt(words, at));
  std::uint64_t sum = words.size();
  for (const std::uint64_t one : sums) sum = Mix(sum, one);
  return sum ^ sum >> 32;
}

std::uint64_t WordAt(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + offset, kWordBytes);
  return word;
}

void SetWord(std::span<std::byte> bytes, std::size_t offset, std::uint64_t word) {
  std::memcpy(bytes.data() + offset, &word, kWordBytes);
}

SwarmLayout::SwarmLayout(const Quantizer& quantizer)
    : prefix_bytes_(quantizer.register_prefix_bytes()),
      delta_bytes_(quantizer.delta_bytes()),
      slot_bytes_(WholeLines(quantizer.register_bytes() + 3 * kWordBytes)),
      cell_stride_(WholeLines(delta_bytes_ + 2 * kWordBytes)) {
  WEFT_CHECK(prefix_bytes_ % kWordBytes == 0 && delta_bytes_ % kWordBytes == 0)
      << prefix_bytes_ << " and " << delta_bytes_ << " bytes are not whole words";
}

std::size_t SwarmLayout::RestOffset(std::uint32_t version, ByteRange range) const {
  WEFT_CHECK(range.offset >= prefix_bytes_) << "byte " << range.offset << " is in the prefix";
  return SlotOffset(version) + rest_in_slot() + range.offset - prefix_bytes_;
}

bool SwarmLayout::HeadIsWhole(std::span<const std::byte> head, std::uint32_t version) const {
  return WordAt(head, 0) == version && WordAt(head, second_version_in_slot()) == version &&
         WordAt(head, checksum_in_slot()) == SwarmChecksum(version, head.subspan(kWordBytes, prefix_bytes_));
}

bool SwarmLayout::CellIsWhole(std::span<const std::byte> cell, std::uint32_t tag) const {
  const std::uint64_t checksum = WordAt(cell, checksum_in_cell());
  return (checksum & 0xffffff) == tag && checksum == SwarmChecksum(0, cell.first(checksum_in_cell()));
}

}  // namespace weft
