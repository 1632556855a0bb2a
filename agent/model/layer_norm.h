// Layer normalization (Ba et al. 2016) over the last dimension of x[rows, width]; epsilon is 1e-5.
#pragma once

#include <cstdint>

namespace weft {

// y = scale (x - mean) / sqrt(variance + epsilon) + shift, by row, with the biased variance. Overwrites y, and mean and
// inverse deviation, [rows] each, which the backward needs.
void LayerNormForward(std::int64_t rows, std::int64_t width, const float* scale, const float* shift, const float* x,
                      float* y, float* mean, float* inverse_deviation);

// Overwrites dscale and dshift; adds to dx, which holds the gradient that goes around the normalization.
void LayerNormBackward(std::int64_t rows, std::int64_t width, const float* scale, const float* x, const float* mean,
                       const float* inverse_deviation, const float* dy, float* dscale, float* dshift, float* dx);

}  // namespace weft
