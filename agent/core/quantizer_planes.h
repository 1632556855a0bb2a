// Codes of a few bits in memory: planes.
//
// Codes are stored in groups of 64 coordinates. Unpacked, a code of up to 8 bits has a byte and a longer one two
// (little-endian). Position p of a group is coordinate p / 4 + 16 (p mod 4) in bytes, p / 2 + 32 (p mod 2) in pairs of
// bytes: the codes of one 32-bit word then belong to different vectors of neighbours, which shifts alone take apart.
//
// A plane of width w holds w bits a coordinate, 8 w bytes a group. Widths 8 and 16 are the unpacked codes. Widths 1, 2
// and 4: byte t of the group has the positions t, t + 8w, t + 16w, … from its lowest bits up. Every other width is cut,
// from the lowest bits up, into parts of 8, 4, 2 and 1 bits, each at most once, the widest first; a group holds its
// parts one after another.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

inline constexpr std::size_t kCodeGroup = 64;

// Of a code of `bits`, unpacked.
constexpr std::size_t CodeBytes(int bits) { return bits <= 8 ? 1 : 2; }
constexpr std::size_t CoordinateAt(std::size_t position, int bits) {
  const std::size_t parts = 4 / CodeBytes(bits), in_group = position % kCodeGroup;
  return position - in_group + in_group / parts + in_group % parts * (kCodeGroup / parts);
}

// `codes`: `count` codes of CodeBytes(width) in order of positions, a multiple of 64; bits above `width` are ignored
// and come back as zeros. `plane` has count / 8 * width bytes.
void PackPlane(const std::byte* codes, std::size_t count, int width, std::byte* plane);
void UnpackPlane(const std::byte* plane, std::size_t count, int width, std::byte* codes);

// The codes of `width` bits that numbers have from bit `shift` on: k is in coordinates' order, `codes` in positions'.
void TakeDigits(const std::int32_t* k, std::size_t count, int shift, int width, std::byte* codes);
// The way back: numbers[i] |= digit << shift.
void AddDigits(const std::byte* codes, std::size_t count, int width, int shift, std::uint32_t* numbers);

}  // namespace weft
