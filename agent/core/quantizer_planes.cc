#include "agent/core/quantizer_planes.h"

#include <algorithm>
#include <cstring>
namespace weft {
namespace {

// One group's part of `kWidth` bits, taken from bit `shift` of the codes on.
template <int kWidth, typename Code>
void PackPart(const Code* __restrict codes, int shift, std::uint8_t* __restrict out) {
  constexpr std::size_t kBytes = 8 * kWidth;
  constexpr unsigned kMask = (1U << kWidth) - 1;
  for (std::size_t t = 0; t < kBytes; ++t) {
    unsigned byte = 0;
    for (std::size_t i = 0; i < 8 / kWidth; ++i) {
      byte |= ((static_cast<unsigned>(codes[t + i * kBytes]) >> shift) & kMask) << (i * kWidth);
    }
    out[t] = static_cast<std::uint8_t>(byte);
  }
}

template <int kWidth, typename Code>
void UnpackPart(const std::uint8_t* __restrict in, int shift, Code* __restrict codes) {
  constexpr std::size_t kBytes = 8 * kWidth;
  constexpr unsigned kMask = (1U << kWidth) - 1;
  for (std::size_t i = 0; i < 8 / kWidth; ++i) {
    for (std::size_t t = 0; t < kBytes; ++t) {
      const unsigned part = (static_cast<unsigned>(in[t]) >> (i * kWidth)) & kMask;
      codes[t + i * kBytes] = static_cast<Code>(codes[t + i * kBytes] | (part << shift));
    }
  }
}

constexpr int WidestPart(int width) { return width >= 8 ? 8 : width >= 4 ? 4 : width >= 2 ? 2 : 1; }

template <typename Code>
void PackGroup(const Code* codes, int width, std::uint8_t* out) {
  int shift = 0;
  while (shift < width) {
    const int part = WidestPart(width - shift);
    switch (part) {
      case 8:
        PackPart<8>(codes, shift, out);
        break;
      case 4:
        PackPart<4>(codes, shift, out);
        break;
      case 2:
        PackPart<2>(codes, shift, out);
        break;
      default:
        PackPart<1>(codes, shift, out);
    }
    out += static_cast<std::size_t>(part) * kCodeGroup / 8;
    shift += part;
  }
}

template <typename Code>
void UnpackGroup(const std::uint8_t* in, int width, Code* codes) {
  std::fill_n(codes, kCodeGroup, Code{0});
  int shift = 0;
  while (shift < width) {
    const int part = WidestPart(width - shift);
    switch (part) {
      case 8:
        UnpackPart<8>(in, shift, codes);
        break;
      case 4:
        UnpackPart<4>(in, shift, codes);
        break;
      case 2:
        UnpackPart<2>(in, shift, codes);
        break;
      default:
        UnpackPart<1>(in, shift, codes);
    }
    in += static_cast<std::size_t>(part) * kCodeGroup / 8;
    shift += part;
  }
}

template <typename Code>
void Pack(const std::byte* codes, std::size_t count, int width, std::byte* plane) {
  Code group[kCodeGroup];
  for (std::size_t i = 0; i < count; i += kCodeGroup) {
    std::memcpy(group, codes + i * sizeof(Code), sizeof(group));
    PackGroup(group, width, reinterpret_cast<std::uint8_t*>(plane));
    plane += kCodeGroup / 8 * static_cast<std::size_t>(width);
  }
}

template <typename Code>
void Unpack(const std::byte* plane, std::size_t count, int width, std::byte* codes) {
  Code group[kCodeGroup];
  for (std::size_t i = 0; i < count; i += kCodeGroup) {
    UnpackGroup(reinterpret_cast<const std::uint8_t*>(plane), width, group);
    std::memcpy(codes + i * sizeof(Code), group, sizeof(group));
    plane += kCodeGroup / 8 * static_cast<std::size_t>(width);
  }
}

// A group's words, each of four codes (bytes) or two.
template <int kCodeBytes>
void TakeGroup(const std::int32_t* __restrict k, int shift, std::uint32_t mask, std::uint32_t* __restrict words) {
  constexpr std::size_t kParts = 4 / kCodeBytes, kStride = kCodeGroup / kParts;
  for (std::size_t t = 0; t < kStride; ++t) {
    std::uint32_t word = 0;
    for (std::size_t part = 0; part < kParts; ++part) {
      word |= (static_cast<std::uint32_t>(k[part * kStride + t] >> shift) & mask) << (part * 8 * kCodeBytes);
    }
    words[t] = word;
  }
}

}  // namespace

void TakeDigits(const std::int32_t* k, std::size_t count, int shift, int width, std::byte* codes) {
  const std::uint32_t mask = (1U << width) - 1;
  std::uint32_t words[kCodeGroup / 2];
  for (std::size_t i = 0; i < count; i += kCodeGroup) {
    if (CodeBytes(width) == 1) {
      TakeGroup<1>(k + i, shift, mask, words);
    } else {
      TakeGroup<2>(k + i, shift, mask, words);
    }
    std::memcpy(codes, words, kCodeGroup * CodeBytes(width));
    codes += kCodeGroup * CodeBytes(width);
  }
}

void AddDigits(const std::byte* codes, std::size_t count, int width, int shift, std::uint32_t* numbers) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t code = 0;
    std::memcpy(&code, codes + i * CodeBytes(width), CodeBytes(width));
    numbers[CoordinateAt(i, width)] |= std::uint32_t{code} << shift;
  }
}

void PackPlane(const std::byte* codes, std::size_t count, int width, std::byte* plane) {
  if (width == 8 || width == 16) {
    std::memcpy(plane, codes, count * CodeBytes(width));
  } else if (CodeBytes(width) == 1) {
    Pack<std::uint8_t>(codes, count, width, plane);
  } else {
    Pack<std::uint16_t>(codes, count, width, plane);
  }
}

void UnpackPlane(const std::byte* plane, std::size_t count, int width, std::byte* codes) {
  if (width == 8 || width == 16) {
    std::memcpy(codes, plane, count * CodeBytes(width));
  } else if (CodeBytes(width) == 1) {
    Unpack<std::uint8_t>(plane, count, width, codes);
  } else {
    Unpack<std::uint16_t>(plane, count, width, codes);
  }
}

}  // namespace weft
