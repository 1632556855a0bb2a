// The lattice code of SwarmSGD (Davies et al. 2021, cubic lattice, shared subtractive dither), block by block.
//
// Encode: k = round(x/s + u), sent modulo q = 2^bits; u in [-1/2, 1/2) comes from a counter-based generator keyed by
// (seed, writer, version, coordinate) and is never sent. Decode with a key y that is near x:
//   k' = c + q round((y/s + u - c)/q),   x' = s (k' - u).
// Right for every u if and only if max|x - y| <= s (q-1)/2; so s = 2 y_max/(q-1). Unbiased, mean squared error s^2/12.
// s is kept at or above 2^-20 max|x| of its block, so that float32 arithmetic carries k.
//
// Two codes share this. A *delta* has key 0 and its scale from its own maximum: it always decodes. A *register* is
// decoded with the reader's model as key, which its writer does not know: it holds k's base-q digits from the lowest up
// (one plane each), a hash of k per block, and the raw floats behind; a reader takes the low plane, and for the blocks
// whose hash does not match a further digit, then the raw floats. docs/format/quantizer.md has both, byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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

// For vectors of one size. Not thread-safe: it keeps scratch memory. Never reads past a message's end: a message that
// is too short, or whose header does not fit these options, is DATA_LOSS.
class Quantizer {
 public:
  static constexpr std::size_t kBlock = 4096;  // floats; the last block may have fewer

  Quantizer(const QuantizerOptions& options, std::size_t count);

  std::size_t count() const { return count_; }
  std::size_t blocks() const { return (count_ + kBlock - 1) / kBlock; }

  // ---- deltas
  std::size_t delta_bytes() const;  // of every delta of this size
  // Writes the code and, to `decoded`, what a decoder will see. INVALID_ARGUMENT: NaN or infinity; `out` and `decoded`
  // are then undefined.
  Status EncodeDelta(std::span<const float> x, DitherKey key, std::span<std::byte> out, std::span<float> decoded);
  // sum += the delta. The message's header holds the dither key. DATA_LOSS: see above; `sum` is then unchanged.
  Status AddDelta(std::span<const std::byte> message, std::span<float> sum);

  // ---- registers
  std::size_t register_bytes() const;
  // The prefix that every reader takes: header, block headers (scale, hash), low digits.
  std::size_t register_prefix_bytes() const;
  // y_max[b] is the distance at which block b shall decode by its low digits alone. INVALID_ARGUMENT: as EncodeDelta.
  Status EncodeRegister(std::span<const float> x, DitherKey key, std::span<const float> y_max,
                        std::span<std::byte> out);
  // Decodes by low digits what `prefix` holds, with `y` as key, to `x`. `failed` gets the blocks whose hash does not
  // match (x is undefined there). DATA_LOSS: see above.
  Status DecodeRegister(std::span<const std::byte> prefix, std::span<const float> y, std::span<float> x,
                        std::vector<std::size_t>* failed);
  // Further places of a failed block: level 1 is the second digit, then on; the last level is the raw floats.
  int levels() const;
  ByteRange LevelRange(std::size_t block, int level) const;
  // Decodes one block by levels 0..level. `digits[l]` holds the bytes of LevelRange(block, l) for l = 1..level (level
  // 0 is in the prefix). False: the hash still does not match. The last level always matches.
  Result<bool> DecodeBlock(std::span<const std::byte> prefix, std::size_t block, int level,
                           std::span<const std::vector<std::byte>> digits, std::span<const float> y,
                           std::span<float> x);

 private:
  QuantizerOptions options_;
  std::size_t count_;
};

// y_max per block: 1.5 times the largest of the last 64 distances max|x - y| seen there.
class DistanceTracker {
 public:
  DistanceTracker(std::size_t blocks, float initial);
  void Add(std::size_t block, float distance);
  std::span<const float> y_max() const { return y_max_; }
  // The largest distance seen last, over all blocks: weft_quantizer_distance.
  float largest() const;

 private:
  std::vector<float> y_max_;
};

}  // namespace weft
