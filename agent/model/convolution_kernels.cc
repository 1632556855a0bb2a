#include "agent/model/convolution_kernels.h"

namespace weft {
namespace {

// GCC's and Clang's vectors, so that the same code compiles without AVX for the sanitizers. Never passed by value: the
// calling convention depends on the processor.
// Two structs, as GCC drops a vector's size when it depends on a template's parameter.
struct Narrow {
  static constexpr std::int64_t kLanes = 8;
  using Vector = float __attribute__((vector_size(32)));
  // The same anywhere in memory.
  using Unaligned = float __attribute__((vector_size(32), aligned(sizeof(float)), may_alias));
};
struct Wide {
  static constexpr std::int64_t kLanes = 16;
  using Vector = float __attribute__((vector_size(64)));
  // The same anywhere in memory.
  using Unaligned = float __attribute__((vector_size(64), aligned(sizeof(float)), may_alias));
};

// Loops over a tile are unrolled before anything else: only then do its sums live in registers (a factor of five).
#define WEFT_UNROLL _Pragma("GCC unroll 16")
// Becomes part of its caller, and so is compiled for the processor that the caller is for.
#define WEFT_INLINE [[gnu::always_inline]] inline

// The sum of a vector's lanes, by halves: lane by lane it would take longer than a short run.
WEFT_INLINE float LanesOf(const Narrow::Vector& v) {
  const auto quarter = __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
  return (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
}
WEFT_INLINE float LanesOf(const Wide::Vector& v) {
  const Narrow::Vector half = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                              __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
  return LanesOf(half);
}

// One tile: kChannels rows of kVectors vectors. 12 sums, 3 inputs and a weight fill AVX2's 16 registers.
template <typename W, int kChannels, int kVectors>
WEFT_INLINE void ConvolveTile(const RunConvolution& task, std::int64_t channel, std::int64_t start) {
  using Vector = typename W::Vector;
  using Unaligned = typename W::Unaligned;
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
    for (int v = 0; v < kVectors; ++v) in[v] = *reinterpret_cast<const Unaligned*>(input + *offset + v * W::kLanes);
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
    for (int v = 0; v < kVectors; ++v) *reinterpret_cast<Unaligned*>(to + v * W::kLanes) = sums[r][v];
  }
}

// kVectors vectors from `vector` on, or the `left` that are left.
template <typename W, int kChannels, int kVectors>
WEFT_INLINE void ConvolveTileOf(const RunConvolution& task, std::int64_t channel, std::int64_t vector,
                                std::int64_t left) {
  const std::int64_t start = vector * W::kLanes;
  if (left == 1) {
    ConvolveTile<W, kChannels, 1>(task, channel, start);
    return;
  }
  if constexpr (kVectors > 2) {
    if (left == 2) {
      ConvolveTile<W, kChannels, 2>(task, channel, start);
      return;
    }
  }
  ConvolveTile<W, kChannels, kVectors>(task, channel, start);
}

// All channels' tiles of kVectors vectors or fewer at the end of the run.
template <typename W, int kChannels, int kVectors>
WEFT_INLINE void ConvolveTiles(const RunConvolution& task) {
  // What fits the first-level cache stays: the image, or else the weights.
  constexpr std::int64_t kCacheFloats = 8192;
  const std::int64_t vectors = (task.run + W::kLanes - 1) / W::kLanes;
  if (task.input_floats <= kCacheFloats) {
    for (std::int64_t channel = 0; channel < task.channels; channel += kChannels) {
      for (std::int64_t vector = 0; vector < vectors; vector += kVectors) {
        ConvolveTileOf<W, kChannels, kVectors>(task, channel, vector, vectors - vector);
      }
    }
  } else {
    for (std::int64_t vector = 0; vector < vectors; vector += kVectors) {
      for (std::int64_t channel = 0; channel < task.channels; channel += kChannels) {
        ConvolveTileOf<W, kChannels, kVectors>(task, channel, vector, vectors - vector);
      }
    }
  }
}

// kChannels times kTaps sums over the images of a block.
template <typename W, int kChannels, int kTaps>
WEFT_INLINE void CorrelateTile(const RunCorrelation& task, std::int64_t channel, std::int64_t tap,
                               std::int64_t channels) {
  using Vector = typename W::Vector;
  using Unaligned = typename W::Unaligned;
  Vector sums[kChannels][kTaps] = {};
  const std::ptrdiff_t* offsets = task.offsets.data() + tap;
  const std::int64_t pitch = task.gradient_pitch;
  for (std::int64_t n = 0; n < task.images; ++n) {
    const float* input = task.input + n * task.input_floats;
    const float* gradient = task.gradients + n * task.gradient_floats + channel * pitch;
    for (std::int64_t i = 0; i < task.run; i += W::kLanes) {
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
      const float sum = LanesOf(s);
      if (r < channels) task.sums[(channel + r) * taps + tap + t] += sum;
    }
  }
}

template <typename W>
WEFT_INLINE void Convolve(const RunConvolution& task) {
  if (TileChannels(task.channels) == 6) {
    ConvolveTiles<W, 6, 2>(task);
  } else {
    ConvolveTiles<W, 4, 3>(task);
  }
}

template <typename W>
WEFT_INLINE void Correlate(const RunCorrelation& task) {
  // AVX-512 has twice the registers.
  constexpr int kChannels = W::kLanes == Wide::kLanes ? 8 : 4;
  constexpr int kTaps = 3;
  const auto taps = static_cast<std::int64_t>(task.offsets.size());
  for (std::int64_t channel = 0; channel < task.channels; channel += kChannels) {
    const std::int64_t channels = task.channels - channel;
    std::int64_t tap = 0;
    for (; tap + kTaps <= taps; tap += kTaps) CorrelateTile<W, kChannels, kTaps>(task, channel, tap, channels);
    for (; tap < taps; ++tap) CorrelateTile<W, kChannels, 1>(task, channel, tap, channels);
  }
}

#if defined(__x86_64__)
#define WEFT_AVX512 __attribute__((target("avx512f,fma")))
WEFT_AVX512 void ConvolveAvx512(const RunConvolution& task) { Convolve<Wide>(task); }
WEFT_AVX512 void CorrelateAvx512(const RunCorrelation& task) { Correlate<Wide>(task); }

bool HasAvx512() {
  static const bool has = __builtin_cpu_supports("avx512f") != 0;
  return has;
}
#else
void ConvolveAvx512(const RunConvolution& task) { Convolve<Wide>(task); }
void CorrelateAvx512(const RunCorrelation& task) { Correlate<Wide>(task); }
bool HasAvx512() { return false; }
#endif

}  // namespace

void ConvolveRun(const RunConvolution& task) {
  if (task.vectors == Vectors::kWidest && HasAvx512()) {
    ConvolveAvx512(task);
  } else {
    Convolve<Narrow>(task);
  }
}

void CorrelateRuns(const RunCorrelation& task) {
  if (task.vectors == Vectors::kWidest && HasAvx512()) {
    CorrelateAvx512(task);
  } else {
    Correlate<Narrow>(task);
  }
}

float Sum(const float* x, std::int64_t count) {
  Narrow::Vector sums = {};
  std::int64_t i = 0;
  for (; i + Narrow::kLanes <= count; i += Narrow::kLanes) sums += *reinterpret_cast<const Narrow::Unaligned*>(x + i);
  float sum = LanesOf(sums);
  for (; i < count; ++i) sum += x[i];
  return sum;
}

}  // namespace weft
