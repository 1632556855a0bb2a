#include "agent/model/convolution_kernels.h"

namespace weft {
namespace {

// GCC's and Clang's vectors, so that the same code compiles without AVX for the sanitizers. Never passed by value: the
// calling convention depends on the processor.
using Vector = float __attribute__((vector_size(kVectorFloats * sizeof(float))));
// The same anywhere in memory.
using Unaligned = float __attribute__((vector_size(kVectorFloats * sizeof(float)), aligned(sizeof(float)), may_alias));

// Loops over a tile are unrolled before anything else: only then do its sums live in registers (a factor of five).
#define WEFT_UNROLL _Pragma("GCC unroll 16")

// One tile: kChannels rows of kVectors vectors. 12 sums, 3 inputs and a weight fill AVX2's 16 registers.
template <int kChannels, int kVectors>
void ConvolveTile(const RunConvolution& task, std::int64_t channel, std::int64_t start) {
  Vector sums[kChannels][kVectors];
  WEFT_UNROLL
  for (int r = 0; r < kChannels; ++r) {
    WEFT_UNROLL
    for (int v = 0; v < kVectors; ++v) sums[r][v] = Vector{} + task.bias[channel + r];
  }
  const float* input = task.input + start;
  const std::ptrdiff_t* offset = task.offsets.data();
  const std::ptrdiff_t* const end = offset + task.offsets.size();
  const float* weight = task.weights + channel * static_cast<std::int64_t>(task.offsets.size());
  for (; offset != end; ++offset, weight += kChannels) {
    Vector in[kVectors];
    WEFT_UNROLL
    for (int v = 0; v < kVectors; ++v) in[v] = *reinterpret_cast<const Unaligned*>(input + *offset + v * kVectorFloats);
    WEFT_UNROLL
    for (int r = 0; r < kChannels; ++r) {
      const float w = weight[r];
      WEFT_UNROLL
      for (int v = 0; v < kVectors; ++v) sums[r][v] += w * in[v];
    }
  }
  WEFT_UNROLL
  for (int r = 0; r < kChannels; ++r) {
    float* to = task.output + (channel + r) * task.output_pitch + start;
    WEFT_UNROLL
    for (int v = 0; v < kVectors; ++v) *reinterpret_cast<Unaligned*>(to + v * kVectorFloats) = sums[r][v];
  }
}

// All channels' tiles of kVectors vectors or fewer at the end of the run.
template <int kChannels, int kVectors>
void ConvolveTiles(const RunConvolution& task) {
  // What fits the first-level cache stays: the image, or else the weights.
  constexpr std::int64_t kCacheFloats = 8192;
  const std::int64_t vectors = (task.run + kVectorFloats - 1) / kVectorFloats;
  const auto tile = [&task, vectors](std::int64_t channel, std::int64_t vector) {
    const std::int64_t start = vector * kVectorFloats;
    switch (vectors - vector) {
      case 1:
        ConvolveTile<kChannels, 1>(task, channel, start);
        break;
      case 2:
        ConvolveTile<kChannels, 2>(task, channel, start);
        break;
      default:
        ConvolveTile<kChannels, kVectors>(task, channel, start);
    }
  };
  if (task.input_floats <= kCacheFloats) {
    for (std::int64_t channel = 0; channel < task.channels; channel += kChannels) {
      for (std::int64_t vector = 0; vector < vectors; vector += kVectors) tile(channel, vector);
    }
  } else {
    for (std::int64_t vector = 0; vector < vectors; vector += kVectors) {
      for (std::int64_t channel = 0; channel < task.channels; channel += kChannels) tile(channel, vector);
    }
  }
}

// kChannels times kTaps sums over the images of a block.
template <int kChannels, int kTaps>
void CorrelateTile(const RunCorrelation& task, std::int64_t channel, std::int64_t tap, std::int64_t channels) {
  Vector sums[kChannels][kTaps] = {};
  const std::ptrdiff_t* offsets = task.offsets.data() + tap;
  const std::int64_t pitch = task.gradient_pitch;
  for (std::int64_t n = 0; n < task.images; ++n) {
    const float* input = task.input + n * task.input_floats;
    const float* gradient = task.gradients + n * task.gradient_floats + channel * pitch;
    for (std::int64_t i = 0; i < task.run; i += kVectorFloats) {
      Vector in[kTaps];
      WEFT_UNROLL
      for (int t = 0; t < kTaps; ++t) in[t] = *reinterpret_cast<const Unaligned*>(input + offsets[t] + i);
      WEFT_UNROLL
      for (int r = 0; r < kChannels; ++r) {
        const Vector g = *reinterpret_cast<const Unaligned*>(gradient + r * pitch + i);
        WEFT_UNROLL
        for (int t = 0; t < kTaps; ++t) sums[r][t] += g * in[t];
      }
    }
  }
  const auto taps = static_cast<std::int64_t>(task.offsets.size());
  WEFT_UNROLL
  for (int r = 0; r < kChannels; ++r) {
    WEFT_UNROLL
    for (int t = 0; t < kTaps; ++t) {
      const Vector s = sums[r][t];
      const float sum = ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
      if (r < channels) task.sums[(channel + r) * taps + tap + t] += sum;
    }
  }
}

}  // namespace

void ConvolveRun(const RunConvolution& task) {
  if (TileChannels(task.channels) == 6) {
    ConvolveTiles<6, 2>(task);
  } else {
    ConvolveTiles<4, 3>(task);
  }
}

void CorrelateRuns(const RunCorrelation& task) {
  constexpr int kChannels = 4;
  constexpr int kTaps = 3;
  const auto taps = static_cast<std::int64_t>(task.offsets.size());
  for (std::int64_t channel = 0; channel < task.channels; channel += kChannels) {
    const std::int64_t channels = task.channels - channel;
    std::int64_t tap = 0;
    for (; tap + kTaps <= taps; tap += kTaps) CorrelateTile<kChannels, kTaps>(task, channel, tap, channels);
    for (; tap < taps; ++tap) CorrelateTile<kChannels, 1>(task, channel, tap, channels);
  }
}

float Sum(const float* x, std::int64_t count) {
  Vector sums = {};
  std::int64_t i = 0;
  for (; i + kVectorFloats <= count; i += kVectorFloats) {
    sums += *reinterpret_cast<const Unaligned*>(x + i);
  }
  float sum = ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
  for (; i < count; ++i) sum += x[i];
  return sum;
}

}  // namespace weft
