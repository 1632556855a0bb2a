#include "agent/core/quantizer_format.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "agent/core/quantizer_dither.h"
#include "common/check.h"

static_assert(std::endian::native == std::endian::little, "messages are written as memory has them");

namespace weft {
namespace {

constexpr std::array<char, 4> kMagic = {'W', 'F', 'Q', 'Z'};
constexpr std::uint8_t kVersion = 1;
// A register's k has 22 bits: a level with so many tells it without help in all but rare cases, a wider one is not
// better than the raw floats.
constexpr int kMostLevelBits = 20;

struct RawHeader {
  std::array<char, 4> magic;
  std::uint8_t version;
  std::uint8_t kind;
  std::uint8_t bits;
  std::uint8_t rotation;
  std::uint32_t writer;
  std::uint32_t seed_mark;
  std::uint64_t message_version;
  std::uint64_t count;
};
static_assert(sizeof(RawHeader) == kCodeHeaderBytes);

constexpr std::size_t RoundUp(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

RawHeader HeaderOf(CodeKind kind, const QuantizerOptions& options, std::size_t count, DitherKey key) {
  return {.magic = kMagic,
          .version = kVersion,
          .kind = static_cast<std::uint8_t>(kind),
          .bits = static_cast<std::uint8_t>(options.bits),
          .rotation = static_cast<std::uint8_t>(options.rotation && options.bits != 0),
          .writer = key.writer,
          .seed_mark = SeedMark(options.seed),
          .message_version = key.version,
          .count = count};
}

Status Mismatch(const char* field, std::uint64_t value, std::uint64_t expected) {
  return DataLossError(std::string("quantized message: ") + field + " " + std::to_string(value) + " instead of " +
                       std::to_string(expected));
}

}  // namespace

QuantizerLayout::QuantizerLayout(const QuantizerOptions& options, std::size_t count)
    : options_(options), count_(count), blocks_((count + kCodeBlock - 1) / kCodeBlock) {
  WEFT_CHECK(options.bits == 0 || (options.bits >= 2 && options.bits <= 16)) << options.bits << " bits";
  if (blocks_ > 0) {
    const std::size_t floats = Floats(blocks_ - 1);
    last_coordinates_ = RoundUp(options.rotation ? std::bit_ceil(floats) : floats, kCodeGroup);
  }
  if (options_.bits == 0) {
    prefix_bytes_ = register_bytes_ = delta_bytes();
    return;
  }
  prefix_bytes_ = CodesOffset(kRegisterBlockHeaderBytes) + AllPlaneBytes(options_.bits);
  register_bytes_ = prefix_bytes_;
  for (digit_levels_ = 1; LevelBits(digit_levels_) <= kMostLevelBits; ++digit_levels_) {
    register_bytes_ += AllPlaneBytes(LevelWidth(digit_levels_));
  }
  register_bytes_ += RoundUp(count_ * sizeof(float), 8);
}

std::size_t QuantizerLayout::Floats(std::size_t block) const {
  return std::min(kCodeBlock, count_ - block * kCodeBlock);
}

std::size_t QuantizerLayout::Coordinates(std::size_t block) const {
  return block + 1 == blocks_ ? last_coordinates_ : kCodeBlock;
}

std::size_t QuantizerLayout::CodesOffset(std::size_t block_header_bytes) const {
  return RoundUp(kCodeHeaderBytes + blocks_ * block_header_bytes, kCodeGroup);
}

std::size_t QuantizerLayout::AllPlaneBytes(int width) const {
  return blocks_ == 0 ? 0
                      : (blocks_ - 1) * kCodeBlock / 8 * static_cast<unsigned>(width) + PlaneBytes(blocks_ - 1, width);
}

std::size_t QuantizerLayout::delta_bytes() const {
  if (options_.bits == 0) return CodesOffset(0) + RoundUp(count_ * sizeof(float), 8);
  return CodesOffset(kDeltaBlockHeaderBytes) + AllPlaneBytes(options_.bits);
}

std::size_t QuantizerLayout::DeltaCodes(std::size_t block) const {
  if (options_.bits == 0) return CodesOffset(0) + block * kCodeBlock * sizeof(float);
  return CodesOffset(kDeltaBlockHeaderBytes) + block * kCodeBlock / 8 * static_cast<unsigned>(options_.bits);
}

ByteRange QuantizerLayout::LevelRange(std::size_t block, int level) const {
  WEFT_CHECK(block < blocks_ && level >= 0 && level <= digit_levels_) << "block " << block << ", level " << level;
  if (options_.bits == 0) return {.offset = DeltaCodes(block), .size = RoundUp(Floats(block) * sizeof(float), 8)};
  std::size_t offset = CodesOffset(kRegisterBlockHeaderBytes);
  for (int l = 0; l < level; ++l) offset += AllPlaneBytes(LevelWidth(l));
  if (level == digit_levels_) {
    return {.offset = offset + block * kCodeBlock * sizeof(float), .size = RoundUp(Floats(block) * sizeof(float), 8)};
  }
  const int width = LevelWidth(level);
  return {.offset = offset + block * kCodeBlock / 8 * static_cast<unsigned>(width), .size = PlaneBytes(block, width)};
}

void WriteCodeHeader(std::span<std::byte> out, CodeKind kind, const QuantizerOptions& options, std::size_t count,
                     DitherKey key) {
  const RawHeader header = HeaderOf(kind, options, count, key);
  std::memcpy(out.data(), &header, sizeof(header));
}

Result<DitherKey> ReadCodeHeader(std::span<const std::byte> message, std::size_t size, CodeKind kind,
                                 const QuantizerOptions& options, std::size_t count) {
  if (message.size() < size) {
    return DataLossError("quantized message: " + std::to_string(message.size()) + " bytes instead of " +
                         std::to_string(size));
  }
  RawHeader header;
  std::memcpy(&header, message.data(), sizeof(header));
  const RawHeader expected = HeaderOf(kind, options, count, {});
  if (header.magic != expected.magic) return DataLossError("quantized message: it does not begin with WFQZ");
  if (header.version != expected.version) return Mismatch("format version", header.version, expected.version);
  if (header.kind != expected.kind) return Mismatch("kind", header.kind, expected.kind);
  if (header.bits != expected.bits) return Mismatch("bits", header.bits, expected.bits);
  if (header.rotation != expected.rotation) return Mismatch("rotation", header.rotation, expected.rotation);
  if (header.seed_mark != expected.seed_mark) return Mismatch("mark of the seed", header.seed_mark, expected.seed_mark);
  if (header.count != expected.count) return Mismatch("count", header.count, expected.count);
  return DitherKey{.writer = header.writer, .version = header.message_version};
}

Result<float> ReadScale(std::span<const std::byte> message, std::size_t offset, CodeKind kind, std::size_t block) {
  float scale;
  std::memcpy(&scale, message.data() + offset, sizeof(scale));
  if (scale == 0 && kind == CodeKind::kDelta) return 0.0F;
  // Written so that NaN fails.
  if (!(scale >= kSmallestScale && scale <= 2 * kLargestCoordinate)) {
    return DataLossError("quantized message: block " + std::to_string(block) + " has the scale " +
                         std::to_string(scale));
  }
  return scale;
}

}  // namespace weft
