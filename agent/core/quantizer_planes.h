// Codes of a few bits in memory: planes.
//
// A plane of width w holds w bits a coordinate, in groups of 64 coordinates (8 w bytes). Width 8 is a byte a
// coordinate, 16 a little-endian word. Widths 1, 2 and 4: byte t of the group has the coordinates t, t + 8w, t + 16w, …
// from its lowest bits up. Every other width is cut, from the lowest bits up, into parts of 8, 4, 2 and 1 bits, each at
// most once, the widest first; a group holds its parts one after another.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

// `count` is a multiple of 64; bits of a code above `width` are ignored. `plane` gets count / 8 * width bytes.
void PackPlane(const std::uint8_t* codes, std::size_t count, int width, std::byte* plane);   // width 1..8
void PackPlane(const std::uint16_t* codes, std::size_t count, int width, std::byte* plane);  // width 1..16
void UnpackPlane(const std::byte* plane, std::size_t count, int width, std::uint8_t* codes);
void UnpackPlane(const std::byte* plane, std::size_t count, int width, std::uint16_t* codes);

}  // namespace weft
