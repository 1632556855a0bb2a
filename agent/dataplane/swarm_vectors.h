// A SwarmSGD node's passes over its model. All spans of one call have one size.
#pragma once

#include <cstddef>
#include <span>

namespace weft {

// The largest |x|; infinity or NaN if there is one.
float LargestMagnitude(std::span<const float> x);
// The largest |a + b - c|, without b when that is empty.
float LargestDistance(std::span<const float> a, std::span<const float> b, std::span<const float> c);
// out <- a + b.
void AddTo(std::span<float> out, std::span<const float> a, std::span<const float> b);
// x <- x + change, and copy <- x.
void AddAndCopy(std::span<float> x, std::span<const float> change, std::span<float> copy);
// other <- (x - other) / 2.
void HalfDifferenceInto(std::span<float> other, std::span<const float> x);

}  // namespace weft
