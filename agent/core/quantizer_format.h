// Where things are in a message of the lattice code: docs/format/quantizer.md as arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "agent/core/quantizer_planes.h"
#include "common/status.h"

namespace weft {

struct QuantizerOptions {
  int bits = 8;           // 2..16; 0: off, floats as they are
  bool rotation = false;  // random signs and a Walsh-Hadamard transform per block
  std::uint64_t seed = 1;
};

// What the dither of one message is drawn from, beside the seed. A key is never used twice.
struct DitherKey {
  std::uint32_t writer = 0;   // rank
  std::uint64_t version = 0;  // of the register, or the number of the delta
};

// Bytes [offset, offset + size) of an encoded register.
struct ByteRange {
  std::size_t offset = 0;
  std::size_t size = 0;
};

enum class CodeKind : std::uint8_t { kDelta = 1, kRegister = 2 };

inline constexpr std::size_t kCodeBlock = 4096;  // floats
// Numbers at or above this are refused: only a broken model has them, and below nothing here overflows.
inline constexpr float kLargestCoordinate = 0x1p100F;
inline constexpr float kSmallestScale = 0x1p-90F;

class QuantizerLayout {
 public:
  QuantizerLayout(const QuantizerOptions& options, std::size_t count);

  std::size_t blocks() const { return blocks_; }
  std::size_t Floats(std::size_t block) const;
  // That are coded: a multiple of kCodeGroup, and with rotation a power of two.
  std::size_t Coordinates(std::size_t block) const;
  std::size_t PlaneBytes(std::size_t block, int width) const {
    return Coordinates(block) / 8 * static_cast<unsigned>(width);
  }

  // Of deltas: each block's scale and its codes.
  std::size_t delta_bytes() const;
  std::size_t DeltaCodes(std::size_t block) const;

  // Of registers. Level l < digit_levels() completes each coordinate to LevelBits(l) bits, the one after them is raw.
  std::size_t register_bytes() const { return register_bytes_; }
  std::size_t prefix_bytes() const { return prefix_bytes_; }
  int digit_levels() const { return digit_levels_; }
  int LevelBits(int level) const { return options_.bits << level; }
  // Bits a coordinate that level `level` adds.
  int LevelWidth(int level) const { return level == 0 ? options_.bits : options_.bits << (level - 1); }
  ByteRange LevelRange(std::size_t block, int level) const;

 private:
  std::size_t CodesOffset(std::size_t block_header_bytes) const;
  std::size_t AllPlaneBytes(int width) const;

  QuantizerOptions options_;
  std::size_t count_;
  std::size_t blocks_;
  std::size_t last_coordinates_ = 0;
  int digit_levels_ = 0;
  std::size_t prefix_bytes_ = 0;
  std::size_t register_bytes_ = 0;
};

inline constexpr std::size_t kCodeHeaderBytes = 32;
inline constexpr std::size_t kDeltaBlockHeaderBytes = 4;     // scale
inline constexpr std::size_t kRegisterBlockHeaderBytes = 8;  // scale, hash

void WriteCodeHeader(std::span<std::byte> out, CodeKind kind, const QuantizerOptions& options, std::size_t count,
                     DitherKey key);
// DATA_LOSS: `message` has less than `size` bytes, or its header is not of `kind` with these options and count.
Result<DitherKey> ReadCodeHeader(std::span<const std::byte> message, std::size_t size, CodeKind kind,
                                 const QuantizerOptions& options, std::size_t count);

// A block's scale at `offset`. DATA_LOSS: none that an encoder writes.
Result<float> ReadScale(std::span<const std::byte> message, std::size_t offset, CodeKind kind, std::size_t block);

}  // namespace weft
