// The inner loops of Convolution: tiles of channels times vectors that stay in registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "agent/model/convolution.h"

namespace weft {

// The floats of the widest vector, AVX-512's: runs are rounded up to it. With AVX2 alone a vector has half of them.
// Which one is used is found out when the program runs, and sums over a run differ between the two in their last bits.
inline constexpr std::int64_t kVectorFloats = 16;
inline constexpr std::int64_t kMaxTileChannels = 24;  // a multiple of every tile's channels
// How far behind its last element a run may be read: the last vector's.
inline constexpr std::int64_t kRunSlack = 2 * kVectorFloats;

// Output channels in a tile, for a layer with so many: weights are packed in tiles of this.
constexpr std::int64_t TileChannels(std::int64_t channels) { return channels % 6 == 0 && channels % 4 != 0 ? 6 : 4; }

// output[o, i] = bias[o] + sum over t of weights[o, t] input[offsets[t] + i], for 0 <= i < run.
struct RunConvolution {
  const float* input = nullptr;
  std::int64_t input_floats = 0;            // of one image: tells which loop is the outer one
  std::span<const std::ptrdiff_t> offsets;  // [t]
  const float* weights = nullptr;           // [tiles, t, TileChannels(channels)]
  const float* bias = nullptr;              // [channels rounded up to tiles]
  std::int64_t channels = 0;
  std::int64_t run = 0;
  float* output = nullptr;  // [channels rounded up to tiles, output_pitch]; written to the end of the last vector
  std::int64_t output_pitch = 0;
  Vectors vectors = Vectors::kWidest;
};
void ConvolveRun(const RunConvolution& task);

// sums[o, t] += sum over images n and i of gradients[n, o, i] input[n, offsets[t] + i].
struct RunCorrelation {
  const float* input = nullptr;
  std::int64_t input_floats = 0;     // from image to image
  const float* gradients = nullptr;  // 0 behind the run, up to the end of its last vector
  std::int64_t gradient_pitch = 0;   // from channel to channel
  std::int64_t gradient_floats = 0;  // from image to image
  std::int64_t images = 0;
  std::int64_t channels = 0;
  std::int64_t run = 0;
  std::span<const std::ptrdiff_t> offsets;  // [t]
  float* sums = nullptr;                    // [channels, t]
  Vectors vectors = Vectors::kWidest;
};
void CorrelateRuns(const RunCorrelation& task);

// The sum of x[0..count).
float Sum(const float* x, std::int64_t count);

}  // namespace weft
