// The lattice code of SwarmSGD (Davies et al. 2021, cubic lattice, shared subtractive dither), block by block.
//
// Encode: k = round(x/s + u), sent modulo q = 2^bits; u in [-1/2, 1/2) comes from a counter-based generator keyed by
// (seed, writer, version, coordinate) and is never sent. Decode with a key y that is near x:
//   k' = c + q round((y/s + u - c)/q),   x' = s (k' - u).
// Right for every u if and only if max|x - y| <= s (q-1)/2; so s = 2 y_max/(q-1). Unbiased, mean squared error s^2/12.
// s is kept at or above 2^-20 max|x| of its block, so that float32 arithmetic carries k.
//
// Two codes share this. A *delta* has key 0 and its scale from its own maximum: it always decodes. A *register* is
// decoded with the reader's model as key, which its writer does not know: it holds k's base-q digits from the lowest
// up, a hash per block of what the key adds to the low digit, and the raw floats behind; a reader takes the low digits,
// and for the blocks whose hash does not match a further level (each doubles the known bits), at last the raw floats.
// docs/format/quantizer.md has both, byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "agent/core/distance_tracker.h"
#include "agent/core/quantizer_format.h"
#include "agent/core/quantizer_kernels.h"
#include "agent/core/quantizer_rotation.h"
#include "common/status.h"

namespace weft {

// For vectors of one size. Not thread-safe: it keeps scratch memory. Never reads past a message's end: a message that
// is too short (longer ones are read as far as they go), or whose header does not fit these options, is DATA_LOSS. All
// sizes and offsets are multiples of 8.
class Quantizer {
 public:
  static constexpr std::size_t kBlock = kCodeBlock;  // floats; the last block may have fewer

  // `vectors` changes the speed and nothing else.
  Quantizer(const QuantizerOptions& options, std::size_t count, LatticeVectors vectors = LatticeVectors::kWidest);

  std::size_t count() const { return count_; }
  std::size_t blocks() const { return layout_.blocks(); }

  // ---- deltas
  std::size_t delta_bytes() const { return layout_.delta_bytes(); }  // of every delta of this size
  // Writes the code and, to `decoded`, what a decoder will see, to the bit. INVALID_ARGUMENT: NaN, infinity or a
  // magnitude of 2^100 and more, named with its index; `out` and `decoded` are then undefined. `x` and `decoded` may be
  // the same. `out` has delta_bytes() or more.
  Status EncodeDelta(std::span<const float> x, DitherKey key, std::span<std::byte> out, std::span<float> decoded);
  // sum += the delta. The message's header holds the dither key. DATA_LOSS: see above; `sum` is then unchanged.
  Status AddDelta(std::span<const std::byte> message, std::span<float> sum);

  // ---- registers
  std::size_t register_bytes() const { return layout_.register_bytes(); }
  // The prefix that every reader takes: header, block headers (scale, hash), low digits.
  std::size_t register_prefix_bytes() const { return layout_.prefix_bytes(); }
  // y_max[b] is the distance at which block b shall decode by its low digits alone; with rotation it is meant in the
  // rotated coordinates (normalized: a distance of all of a block's coordinates together stays what it is).
  // INVALID_ARGUMENT: as EncodeDelta, also for y_max, which must not be negative either.
  Status EncodeRegister(std::span<const float> x, DitherKey key, std::span<const float> y_max,
                        std::span<std::byte> out);
  // Decodes by low digits what `prefix` holds, with `y` as key, to `x`. `failed` gets the blocks whose hash does not
  // match (x is undefined there). `distances`, if not empty, gets each block's max|x - y| in y_max's coordinates, for
  // the DistanceTracker; it is undefined for failed ones. DATA_LOSS: see above. `x` and `y` may be the same, but then y
  // is lost where a block has failed.
  Status DecodeRegister(std::span<const std::byte> prefix, std::span<const float> y, std::span<float> x,
                        std::vector<std::size_t>* failed, std::span<float> distances = {});
  // Level 0 is the low digits, levels 1, 2, … further ones, the last level is the raw floats. Without code (0 bits)
  // there is level 0 only, which never fails.
  int levels() const { return layout_.digit_levels() + 1; }
  ByteRange LevelRange(std::size_t block, int level) const { return layout_.LevelRange(block, level); }
  // Decodes one block by levels 0..level. `digits[l]` holds the bytes of LevelRange(block, l) for l = 1..level (level
  // 0 is in the prefix, digits[0] is not read; of the last level only itself is). False: the hash still does not match.
  // The last level always matches. `y` and `x` are the whole vectors; only the block's floats of x are written.
  // `distance`, if not null, gets max|x - y|, as above. DATA_LOSS: see above, and a raw float that no encoder writes.
  Result<bool> DecodeBlock(std::span<const std::byte> prefix, std::size_t block, int level,
                           std::span<const std::vector<std::byte>> digits, std::span<const float> y, std::span<float> x,
                           float* distance = nullptr);

 private:
  // A block's numbers as the lattice has them: x itself if nothing is to be filled up or rotated, else a copy in `own`,
  // a block of scratch.
  const float* Prepare(std::size_t block, const float* x, float* own) const;
  // Back from `z` (changed) to the block's floats at `x`.
  void Restore(std::size_t block, float* z, float* x) const;
  Rotation RotationOf(std::size_t block) const;
  bool InPlace(std::size_t block) const;
  Lattice LatticeOf(std::size_t block, float scale, std::uint64_t message_key) const;
  float Distance(std::size_t block, float coordinates_distance) const;

  Result<std::uint32_t> CheckedMagnitude(std::size_t block, const float* z, const float* x) const;
  // Where a plane's codes lie unpacked: in itself, or in codes_.
  std::byte* CodesFor(std::byte* plane, int width);
  const std::byte* Unpacked(const std::byte* plane, std::size_t count, int width);
  void WriteLevels(std::size_t block, const std::int32_t* k, std::span<std::byte> out);
  void DecodeLowDigits(std::span<const std::byte> prefix, std::uint64_t key, std::span<const float> y,
                       std::span<float> x, std::vector<std::size_t>* failed, std::span<float> distances);
  // A block's raw floats to the scratch. DATA_LOSS: one that no encoder writes.
  Status LoadRaw(std::size_t block, std::span<const std::byte> raw);
  Status DecodeRaw(std::size_t block, std::span<const std::byte> raw, std::span<const float> y, std::span<float> x,
                   float* distance);

  QuantizerOptions options_;
  std::size_t count_;
  LatticeVectors vectors_;
  QuantizerLayout layout_;
  // Scratch, a block each. A vector that crosses cache lines costs a rotation a factor of three.
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  float* scratch() { return reinterpret_cast<float*>(scratch_.data()); }
  std::vector<Line> scratch_;
  std::vector<std::byte> codes_;
  std::vector<std::int32_t> k_;
};

}  // namespace weft
