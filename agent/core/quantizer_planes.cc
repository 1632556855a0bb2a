#include "agent/core/quantizer_planes.h"

#include <algorithm>
#include <cstring>

#include "agent/core/quantizer_format.h"

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
void Pack(const Code* codes, std::size_t count, int width, std::byte* plane) {
  if (width == static_cast<int>(8 * sizeof(Code))) {
    std::memcpy(plane, codes, count * sizeof(Code));
    return;
  }
  auto* out = reinterpret_cast<std::uint8_t*>(plane);
  for (std::size_t i = 0; i < count; i += kCodeGroup) {
    PackGroup(codes + i, width, out);
    out += kCodeGroup / 8 * static_cast<std::size_t>(width);
  }
}

template <typename Code>
void Unpack(const std::byte* plane, std::size_t count, int width, Code* codes) {
  if (width == static_cast<int>(8 * sizeof(Code))) {
    std::memcpy(codes, plane, count * sizeof(Code));
    return;
  }
  const auto* in = reinterpret_cast<const std::uint8_t*>(plane);
  for (std::size_t i = 0; i < count; i += kCodeGroup) {
    UnpackGroup(in, width, codes + i);
    in += kCodeGroup / 8 * static_cast<std::size_t>(width);
  }
}

}  // namespace

void PackPlane(const std::uint8_t* codes, std::size_t count, int width, std::byte* plane) {
  Pack(codes, count, width, plane);
}
void PackPlane(const std::uint16_t* codes, std::size_t count, int width, std::byte* plane) {
  Pack(codes, count, width, plane);
}
void UnpackPlane(const std::byte* plane, std::size_t count, int width, std::uint8_t* codes) {
  Unpack(plane, count, width, codes);
}
void UnpackPlane(const std::byte* plane, std::size_t count, int width, std::uint16_t* codes) {
  Unpack(plane, count, width, codes);
}

}  // namespace weft
