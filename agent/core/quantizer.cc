#include "agent/core/quantizer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "agent/core/quantizer_dither.h"
#include "agent/core/quantizer_planes.h"
#include "agent/core/quantizer_rotation.h"
#include "common/check.h"

namespace weft {
namespace {

// What float32 arithmetic may put between writer and reader, in units of max|x| and of the distance: five roundings of
// 2^-24 each. A transform of 4096 has twelve more.
constexpr float kArithmeticMargin = 0x1p-20F;
constexpr float kRotationMargin = 0x1p-18F;
constexpr float kDistanceMargin = 1 + 0x1p-19F;
// s >= 2^-20 max|x|: k then has 22 bits.
constexpr float kScaleFloor = 0x1p-20F;

// Vectors from here on do not stay in a cache until they are used: their rotated blocks are written past it.
constexpr std::size_t kCachedFloats = std::size_t{4} << 20U;

float Value(std::uint32_t magnitude) { return std::bit_cast<float>(magnitude); }

// s such that |x| / s stays below (q - 1) / 2 by more than a rounding: the edge belongs to both q/2 and -q/2.
float DeltaScale(float largest, int bits) {
  if (largest == 0) return 0;
  const auto steps = static_cast<float>((1 << bits) - 1);
  return std::max(2 * largest / steps * (1 + 0x1p-20F), kSmallestScale);
}

float RegisterScale(float largest, float y_max, const QuantizerOptions& options) {
  const auto steps = static_cast<float>((1 << options.bits) - 1);
  const float distance = y_max * kDistanceMargin + largest * (options.rotation ? kRotationMargin : kArithmeticMargin);
  return std::max({2 * distance / steps, largest * kScaleFloor, kSmallestScale});
}

void AddFloats(const float* from, std::size_t count, float* sum) {
  for (std::size_t i = 0; i < count; ++i) sum[i] += from[i];
}

template <typename T>
void Store(std::span<std::byte> out, std::size_t offset, T value) {
  std::memcpy(out.data() + offset, &value, sizeof(value));
}

template <typename T>
T Load(std::span<const std::byte> in, std::size_t offset) {
  T value;
  std::memcpy(&value, in.data() + offset, sizeof(value));
  return value;
}

std::size_t DeltaHeader(std::size_t block) { return kCodeHeaderBytes + block * kDeltaBlockHeaderBytes; }
std::size_t RegisterHeader(std::size_t block) { return kCodeHeaderBytes + block * kRegisterBlockHeaderBytes; }

// A distance beyond arithmetic is no match, whatever the hash of what came of it.
bool Matches(std::span<const std::byte> prefix, std::size_t block, const DecodedBlock& decoded) {
  return decoded.hash == Load<std::uint32_t>(prefix, RegisterHeader(block) + sizeof(float)) &&
         std::isfinite(decoded.distance);
}

// Between the last block header and the codes.
void ClearGap(std::span<std::byte> out, std::size_t begin, std::size_t end) {
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(begin), out.begin() + static_cast<std::ptrdiff_t>(end),
            std::byte{0});
}

void CopyFloats(const float* from, std::size_t count, std::span<std::byte> out, ByteRange range) {
  ClearGap(out, range.offset + count * sizeof(float), range.offset + range.size);
  if (count > 0) std::memcpy(out.data() + range.offset, from, count * sizeof(float));
}

}  // namespace

Quantizer::Quantizer(const QuantizerOptions& options, std::size_t count, LatticeVectors vectors)
    : options_(options),
      count_(count),
      vectors_(vectors),
      layout_(options, count),
      scratch_(kBlock * sizeof(float) / sizeof(Line)) {
  if (options_.bits == 0) options_.rotation = false;
  codes_.resize(2 * kBlock);
  k_.resize(kBlock);
}

bool Quantizer::InPlace(std::size_t block) const {
  return !options_.rotation && layout_.Floats(block) == layout_.Coordinates(block);
}

Rotation Quantizer::RotationOf(std::size_t block) const {
  return {.key = RotationKey(options_.seed, block), .m = layout_.Coordinates(block), .vectors = vectors_};
}

const float* Quantizer::Prepare(std::size_t block, const float* x, float* own) const {
  x += block * kBlock;
  if (InPlace(block)) return x;
  const std::size_t floats = layout_.Floats(block), coordinates = layout_.Coordinates(block);
  if (floats < coordinates) {
    std::copy_n(x, floats, own);
    std::fill_n(own + floats, coordinates - floats, 0.0F);
    x = own;
  }
  if (options_.rotation) Rotate(RotationOf(block), x, own);
  return own;
}

void Quantizer::Restore(std::size_t block, float* z, float* x) const {
  const std::size_t floats = layout_.Floats(block);
  x += block * kBlock;
  if (options_.rotation && floats == layout_.Coordinates(block) && count_ < kCachedFloats) {
    Unrotate(RotationOf(block), z, x);
    return;
  }
  if (options_.rotation) Unrotate(RotationOf(block), z, z);
  if (count_ < kCachedFloats) {
    std::copy_n(z, floats, x);
  } else {
    CopyPastCaches(z, floats, x);
  }
}

Lattice Quantizer::LatticeOf(std::size_t block, float scale, std::uint64_t message_key) const {
  return {.count = layout_.Coordinates(block),
          .bits = options_.bits,
          .scale = scale,
          .block_key = BlockKey(message_key, block),
          .vectors = vectors_};
}

float Quantizer::Distance(std::size_t block, float coordinates_distance) const {
  if (!options_.rotation) return coordinates_distance;
  return coordinates_distance / std::sqrt(static_cast<float>(layout_.Coordinates(block)));
}

Result<std::uint32_t> Quantizer::CheckedMagnitude(std::size_t block, const float* z, const float* x) const {
  const std::uint32_t largest = LargestMagnitude(vectors_, z, layout_.Coordinates(block));
  if (largest < std::bit_cast<std::uint32_t>(kLargestCoordinate)) return largest;
  // A rotated block can be too large without one float that is.
  for (std::size_t i = block * kBlock; i < block * kBlock + layout_.Floats(block); ++i) {
    if (!(std::abs(x[i]) < kLargestCoordinate)) {
      return InvalidArgumentError("quantizer: float " + std::to_string(i) + " is " + std::to_string(x[i]));
    }
  }
  return InvalidArgumentError("quantizer: block " + std::to_string(block) + " is too large to rotate");
}

// ---- deltas

std::byte* Quantizer::CodesFor(std::byte* plane, int width) {
  return width == 8 || width == 16 ? plane : codes_.data();
}

const std::byte* Quantizer::Unpacked(const std::byte* plane, std::size_t count, int width) {
  if (width == 8 || width == 16) return plane;
  UnpackPlane(plane, count, width, codes_.data());
  return codes_.data();
}

Status Quantizer::EncodeDelta(std::span<const float> x, DitherKey key, std::span<std::byte> out,
                              std::span<float> decoded) {
  WEFT_CHECK(x.size() == count_ && decoded.size() == count_) << x.size() << " and " << decoded.size() << " floats";
  WEFT_CHECK(out.size() >= delta_bytes()) << out.size() << " bytes for a delta of " << delta_bytes();
  WriteCodeHeader(out, CodeKind::kDelta, options_, count_, key);
  if (options_.bits == 0) {
    ClearGap(out, kCodeHeaderBytes, layout_.DeltaCodes(0));
    for (std::size_t block = 0; block < blocks(); ++block) {
      WEFT_RETURN_IF_ERROR(CheckedMagnitude(block, Prepare(block, x.data(), scratch()), x.data()).status());
      CopyFloats(x.data() + block * kBlock, layout_.Floats(block), out, layout_.LevelRange(block, 0));
    }
    if (x.data() != decoded.data()) std::copy(x.begin(), x.end(), decoded.begin());
    return OkStatus();
  }
  ClearGap(out, DeltaHeader(blocks()), layout_.DeltaCodes(0));
  const std::uint64_t message_key =
      MessageKey(options_.seed, static_cast<std::uint32_t>(CodeKind::kDelta), key.writer, key.version);
  for (std::size_t block = 0; block < blocks(); ++block) {
    const float* z = Prepare(block, x.data(), scratch());
    WEFT_ASSIGN_OR_RETURN(const std::uint32_t magnitude, CheckedMagnitude(block, z, x.data()));
    const Lattice lattice = LatticeOf(block, DeltaScale(Value(magnitude), options_.bits), message_key);
    Store(out, DeltaHeader(block), lattice.scale);
    std::byte* plane = out.data() + layout_.DeltaCodes(block);
    std::byte* codes = CodesFor(plane, options_.bits);
    float* result = InPlace(block) ? decoded.data() + block * kBlock : scratch();
    EncodeDeltaBlock(lattice, z, codes, result);
    if (!InPlace(block)) Restore(block, result, decoded.data());
    if (codes != plane) PackPlane(codes, lattice.count, options_.bits, plane);
  }
  return OkStatus();
}

Status Quantizer::AddDelta(std::span<const std::byte> message, std::span<float> sum) {
  WEFT_CHECK(sum.size() == count_) << sum.size() << " floats";
  WEFT_ASSIGN_OR_RETURN(const DitherKey key,
                        ReadCodeHeader(message, delta_bytes(), CodeKind::kDelta, options_, count_));
  if (options_.bits == 0) {
    for (std::size_t block = 0; block < blocks(); ++block) {
      WEFT_RETURN_IF_ERROR(LoadRaw(block, message.subspan(layout_.DeltaCodes(block))));
    }
    for (std::size_t block = 0; block < blocks(); ++block) {
      WEFT_RETURN_IF_ERROR(LoadRaw(block, message.subspan(layout_.DeltaCodes(block))));
      AddFloats(scratch(), layout_.Floats(block), sum.data() + block * kBlock);
    }
    return OkStatus();
  }
  for (std::size_t block = 0; block < blocks(); ++block) {
    WEFT_RETURN_IF_ERROR(ReadScale(message, DeltaHeader(block), CodeKind::kDelta, block).status());
  }
  const std::uint64_t message_key =
      MessageKey(options_.seed, static_cast<std::uint32_t>(CodeKind::kDelta), key.writer, key.version);
  for (std::size_t block = 0; block < blocks(); ++block) {
    const Lattice lattice = LatticeOf(block, Load<float>(message, DeltaHeader(block)), message_key);
    const std::byte* codes = Unpacked(message.data() + layout_.DeltaCodes(block), lattice.count, options_.bits);
    float* to = sum.data() + block * kBlock;
    if (InPlace(block)) {
      AddDeltaBlock(lattice, codes, to);
      continue;
    }
    DecodeDeltaBlock(lattice, codes, scratch());
    if (options_.rotation) Unrotate(RotationOf(block), scratch(), scratch());
    AddFloats(scratch(), layout_.Floats(block), to);
  }
  return OkStatus();
}

// ---- registers

void Quantizer::WriteLevels(std::size_t block, const std::int32_t* k, std::span<std::byte> out) {
  const std::size_t coordinates = layout_.Coordinates(block);
  for (int level = 0; level < layout_.digit_levels(); ++level) {
    const int shift = level == 0 ? 0 : layout_.LevelBits(level - 1);
    const int width = layout_.LevelWidth(level);
    std::byte* plane = out.data() + layout_.LevelRange(block, level).offset;
    std::byte* codes = CodesFor(plane, width);
    TakeDigits(k, coordinates, shift, width, codes);
    if (codes != plane) PackPlane(codes, coordinates, width, plane);
  }
}

Status Quantizer::EncodeRegister(std::span<const float> x, DitherKey key, std::span<const float> y_max,
                                 std::span<std::byte> out) {
  WEFT_CHECK(x.size() == count_) << x.size() << " floats";
  WEFT_CHECK(out.size() >= register_bytes()) << out.size() << " bytes for a register of " << register_bytes();
  WriteCodeHeader(out, CodeKind::kRegister, options_, count_, key);
  const std::uint64_t message_key =
      MessageKey(options_.seed, static_cast<std::uint32_t>(CodeKind::kRegister), key.writer, key.version);
  const std::size_t headers_end = options_.bits == 0 ? kCodeHeaderBytes : RegisterHeader(blocks());
  ClearGap(out, headers_end, blocks() == 0 ? register_bytes() : layout_.LevelRange(0, 0).offset);
  for (std::size_t block = 0; block < blocks(); ++block) {
    const float* z = Prepare(block, x.data(), scratch());
    WEFT_ASSIGN_OR_RETURN(const std::uint32_t magnitude, CheckedMagnitude(block, z, x.data()));
    CopyFloats(x.data() + block * kBlock, layout_.Floats(block), out, layout_.LevelRange(block, levels() - 1));
    if (options_.bits == 0) continue;
    WEFT_CHECK(y_max.size() == blocks()) << y_max.size() << " distances for " << blocks() << " blocks";
    float distance = y_max[block];
    if (!(distance >= 0 && distance < kLargestCoordinate)) {
      return InvalidArgumentError("quantizer: y_max of block " + std::to_string(block) + " is " +
                                  std::to_string(distance));
    }
    if (options_.rotation) distance *= std::sqrt(static_cast<float>(layout_.Coordinates(block)));
    const float scale = RegisterScale(Value(magnitude), distance, options_);
    const std::uint32_t hash = EncodeRegisterBlock(LatticeOf(block, scale, message_key), z, k_.data());
    Store(out, RegisterHeader(block), scale);
    Store(out, RegisterHeader(block) + sizeof(scale), hash);
    WriteLevels(block, k_.data(), out);
  }
  return OkStatus();
}

void Quantizer::DecodeLowDigits(std::span<const std::byte> prefix, std::uint64_t key, std::span<const float> y,
                                std::span<float> x, std::vector<std::size_t>* failed, std::span<float> distances) {
  for (std::size_t block = 0; block < blocks(); ++block) {
    const Lattice lattice = LatticeOf(block, Load<float>(prefix, RegisterHeader(block)), key);
    const std::byte* codes =
        Unpacked(prefix.data() + layout_.LevelRange(block, 0).offset, lattice.count, options_.bits);
    const float* z = Prepare(block, y.data(), scratch());
    float* result = InPlace(block) ? x.data() + block * kBlock : scratch();
    const DecodedBlock decoded = DecodeRegisterBlock(lattice, codes, z, result);
    if (!InPlace(block)) Restore(block, result, x.data());
    if (!Matches(prefix, block, decoded)) failed->push_back(block);
    if (!distances.empty()) distances[block] = Distance(block, decoded.distance);
  }
}

Status Quantizer::DecodeRegister(std::span<const std::byte> prefix, std::span<const float> y, std::span<float> x,
                                 std::vector<std::size_t>* failed, std::span<float> distances) {
  WEFT_CHECK(x.size() == count_ && y.size() == count_) << x.size() << " and " << y.size() << " floats";
  WEFT_CHECK(distances.empty() || distances.size() == blocks()) << distances.size() << " distances";
  failed->clear();
  WEFT_ASSIGN_OR_RETURN(const DitherKey key,
                        ReadCodeHeader(prefix, register_prefix_bytes(), CodeKind::kRegister, options_, count_));
  for (std::size_t block = 0; block < blocks(); ++block) {
    if (options_.bits == 0) {
      const ByteRange range = LevelRange(block, 0);
      WEFT_RETURN_IF_ERROR(DecodeRaw(block, prefix.subspan(range.offset, range.size), y, x,
                                     distances.empty() ? nullptr : &distances[block]));
    } else {
      WEFT_RETURN_IF_ERROR(ReadScale(prefix, RegisterHeader(block), CodeKind::kRegister, block).status());
    }
  }
  if (options_.bits == 0) return OkStatus();
  const std::uint64_t message_key =
      MessageKey(options_.seed, static_cast<std::uint32_t>(CodeKind::kRegister), key.writer, key.version);
  DecodeLowDigits(prefix, message_key, y, x, failed, distances);
  return OkStatus();
}

Status Quantizer::LoadRaw(std::size_t block, std::span<const std::byte> raw) {
  const std::size_t floats = layout_.Floats(block);
  std::memcpy(scratch(), raw.data(), floats * sizeof(float));
  if (LargestMagnitude(vectors_, scratch(), floats) < std::bit_cast<std::uint32_t>(kLargestCoordinate))
    return OkStatus();
  return DataLossError("quantized message: a float in block " + std::to_string(block) +
                       " is NaN, infinite or too large");
}

Status Quantizer::DecodeRaw(std::size_t block, std::span<const std::byte> raw, std::span<const float> y,
                            std::span<float> x, float* distance) {
  const std::size_t floats = layout_.Floats(block);
  WEFT_RETURN_IF_ERROR(LoadRaw(block, raw));
  if (distance != nullptr) {
    float* difference = scratch();
    const std::size_t coordinates = layout_.Coordinates(block);
    for (std::size_t i = 0; i < floats; ++i) difference[i] -= y[block * kBlock + i];
    std::fill_n(difference + floats, coordinates - floats, 0.0F);
    if (options_.rotation) Rotate(RotationOf(block), difference, difference);
    *distance = Distance(block, Value(LargestMagnitude(vectors_, difference, coordinates)));
  }
  std::memcpy(x.data() + block * kBlock, raw.data(), floats * sizeof(float));
  return OkStatus();
}

Result<bool> Quantizer::DecodeBlock(std::span<const std::byte> prefix, std::size_t block, int level,
                                    std::span<const std::vector<std::byte>> digits, std::span<const float> y,
                                    std::span<float> x, float* distance) {
  WEFT_CHECK(x.size() == count_ && y.size() == count_) << x.size() << " and " << y.size() << " floats";
  WEFT_CHECK(block < blocks() && level >= 0 && level < levels()) << "block " << block << ", level " << level;
  WEFT_ASSIGN_OR_RETURN(const DitherKey key,
                        ReadCodeHeader(prefix, register_prefix_bytes(), CodeKind::kRegister, options_, count_));
  const bool raw = level + 1 == levels();
  std::vector<std::span<const std::byte>> planes(static_cast<std::size_t>(level) + 1);
  for (int l = raw ? level : 0; l <= level; ++l) {
    const auto at = static_cast<std::size_t>(l);
    const ByteRange range = LevelRange(block, l);
    if (l == 0) {
      planes[at] = prefix.subspan(range.offset, range.size);
      continue;
    }
    if (digits.size() <= at || digits[at].size() < range.size) {
      return DataLossError("quantized message: block " + std::to_string(block) + " lacks level " + std::to_string(l));
    }
    planes[at] = digits[at];
  }
  if (raw) {
    WEFT_RETURN_IF_ERROR(DecodeRaw(block, planes[static_cast<std::size_t>(level)], y, x, distance));
    return true;
  }
  WEFT_ASSIGN_OR_RETURN(const float scale, ReadScale(prefix, RegisterHeader(block), CodeKind::kRegister, block));
  const Lattice lattice =
      LatticeOf(block, scale,
                MessageKey(options_.seed, static_cast<std::uint32_t>(CodeKind::kRegister), key.writer, key.version));
  std::vector<std::uint32_t> codes(lattice.count);
  for (int l = 0; l <= level; ++l) {
    const int width = layout_.LevelWidth(l);
    const std::byte* plane = Unpacked(planes[static_cast<std::size_t>(l)].data(), lattice.count, width);
    AddDigits(plane, lattice.count, width, l == 0 ? 0 : layout_.LevelBits(l - 1), codes.data());
  }
  const float* z = Prepare(block, y.data(), scratch());
  const DecodedBlock decoded = DecodeLevelBlock(lattice, layout_.LevelBits(level), codes.data(), z, scratch());
  Restore(block, scratch(), x.data());
  if (distance != nullptr) *distance = Distance(block, decoded.distance);
  return Matches(prefix, block, decoded);
}

}  // namespace weft
