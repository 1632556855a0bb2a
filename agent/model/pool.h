// Max-pooling of 2 by 2 with a ReLU in it, on planes [planes, height, width]; a last odd row or column is left out.
#pragma once

#include <cstdint>

namespace weft {

// y[c, i, j] = max(0, the largest of x[c, 2i..2i+1, 2j..2j+1]), overwritten; choice[c, i, j] is where it stood, row by
// row from 0 to 3, the first of equals, and 4 when it is not above 0.
void ReluMaxPoolForward(std::int64_t planes, std::int64_t height, std::int64_t width, const float* x, float* y,
                        std::uint8_t* choice);

// dx, overwritten: dy where the choice says, 0 elsewhere.
void ReluMaxPoolBackward(std::int64_t planes, std::int64_t height, std::int64_t width, const float* dy,
                         const std::uint8_t* choice, float* dx);

}  // namespace weft
