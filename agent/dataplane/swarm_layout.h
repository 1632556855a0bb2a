// Where things are in a node's registers under SwarmSGD: docs/format/swarm-registers.md as arithmetic.
//
//   header   the state word, the claims word, eight seat words, one for each cell of the queue, and the iteration word
//   slots    two, for publications of even and of odd versions
//   cells    eight, for the deltas that others append
//
// Everything is made of whole words of 8 bytes, little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "agent/core/quantizer.h"

namespace weft {

inline constexpr int kSwarmCells = 8;
inline constexpr std::size_t kWordBytes = 8;

inline constexpr std::size_t kStateOffset = 0;
inline constexpr std::size_t kClaimsOffset = 8;
inline constexpr std::size_t kSeatsOffset = 16;
inline constexpr std::size_t kIterationOffset = 80;  // how many iterations the owner has ended
inline constexpr std::size_t kHeaderBytes = 128;     // that a reader takes; the rest of it is zero

// Of the last publication; written by the owner in one store, which is the version change.
struct StateWord {
  std::uint32_t version = 0;  // 0: nothing is published yet
  // By cell, modulo 16: the use whose delta is the first one not in this publication.
  std::uint32_t next_uses = 0;

  static StateWord From(std::uint64_t word) {
    return {.version = static_cast<std::uint32_t>(word), .next_uses = static_cast<std::uint32_t>(word >> 32)};
  }
  std::uint64_t Word() const { return version | static_cast<std::uint64_t>(next_uses) << 32; }
  int next_use(int cell) const { return static_cast<int>(next_uses >> (4 * cell)) & 15; }
};

// Of one cell. The owner stores it while nobody has claimed the cell; then its writer and the owner only add bits to
// it, each with one atomic operation.
struct SeatWord {
  static constexpr std::uint64_t kReady = 1;   // by the writer, last: the delta in the cell counts
  static constexpr std::uint64_t kClosed = 2;  // by the owner, before kReady: it never will

  bool ready = false;
  bool closed = false;
  int writer = 0;         // with kReady
  std::uint32_t tag = 0;  // with kReady: the low 24 bits of the cell's checksum
  int use = 0;            // how often the cell has been folded, modulo 65536

  static SeatWord From(std::uint64_t word) {
    return {.ready = (word & kReady) != 0,
            .closed = (word & kClosed) != 0,
            .writer = static_cast<int>(word >> 8 & 0xffff),
            .tag = static_cast<std::uint32_t>(word >> 24 & 0xffffff),
            .use = static_cast<int>(word >> 48)};
  }
  static std::uint64_t Free(int use) { return static_cast<std::uint64_t>(use & 0xffff) << 48; }
  // What a writer adds.
  static std::uint64_t Ready(int writer, std::uint64_t checksum) {
    return kReady | static_cast<std::uint64_t>(writer & 0xffff) << 8 | (checksum & 0xffffff) << 24;
  }
};

// Of whole words. Any change of one of them changes it but by chance (2^-64).
std::uint64_t SwarmChecksum(std::uint64_t start, std::span<const std::byte> words);

std::uint64_t WordAt(std::span<const std::byte> bytes, std::size_t offset);
void SetWord(std::span<std::byte> bytes, std::size_t offset, std::uint64_t word);

// For codes of one quantizer, whose sizes are whole words.
class SwarmLayout {
 public:
  explicit SwarmLayout(const Quantizer& quantizer);

  // Slot: [version][prefix][checksum][version][rest of the encoded register].
  std::size_t SlotOffset(std::uint32_t version) const { return kHeaderBytes + (version & 1) * slot_bytes_; }
  std::size_t prefix_bytes() const { return prefix_bytes_; }
  std::size_t head_bytes() const { return prefix_bytes_ + 3 * kWordBytes; }  // up to the second version
  std::size_t checksum_in_slot() const { return kWordBytes + prefix_bytes_; }
  std::size_t second_version_in_slot() const { return checksum_in_slot() + kWordBytes; }
  std::size_t rest_in_slot() const { return head_bytes(); }
  // Where a range of the encoded register behind its prefix is.
  std::size_t RestOffset(std::uint32_t version, ByteRange range) const;
  // True when what was read of a slot is the whole publication of this version.
  bool HeadIsWhole(std::span<const std::byte> head, std::uint32_t version) const;

  // Cell: [writer and number][delta][checksum].
  std::size_t CellOffset(int cell) const {
    return kHeaderBytes + 2 * slot_bytes_ + static_cast<std::size_t>(cell) * cell_stride_;
  }
  std::size_t delta_bytes() const { return delta_bytes_; }
  std::size_t cell_bytes() const { return delta_bytes_ + 2 * kWordBytes; }
  std::size_t checksum_in_cell() const { return delta_bytes_ + kWordBytes; }
  // True when what was read of a cell is the whole delta that its seat word speaks of.
  bool CellIsWhole(std::span<const std::byte> cell, std::uint32_t tag) const;

  std::size_t total_bytes() const { return CellOffset(kSwarmCells); }

 private:
  std::size_t prefix_bytes_;
  std::size_t delta_bytes_;
  std::size_t slot_bytes_;
  std::size_t cell_stride_;
};

}  // namespace weft
