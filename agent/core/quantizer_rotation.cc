#include "agent/core/quantizer_rotation.h"

#include <algorithm>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "agent/core/quantizer_dither.h"

// Whatever the vectors, each number goes through the same sums in the same order of stages.
namespace weft {
namespace {

// Neighbours at a distance of 1, 2, 4 and, where a vector has 16, 8: (a, b) becomes (b + a, -b + a).
WEFT_LATTICE_INLINE void StagesInside(EightLanes::Float* v) {
  using Word = EightLanes::Word;
  constexpr std::uint32_t n = 0x80000000U;
  constexpr Word kOdd = {0, n, 0, n, 0, n, 0, n};
  constexpr Word kPairs = {0, 0, n, n, 0, 0, n, n};
  constexpr Word kHalves = {0, 0, 0, 0, n, n, n, n};
  using Float = EightLanes::Float;
  *v = __builtin_shufflevector(*v, *v, 1, 0, 3, 2, 5, 4, 7, 6) +
       __builtin_bit_cast(Float, __builtin_bit_cast(Word, *v) ^ kOdd);
  *v = __builtin_shufflevector(*v, *v, 2, 3, 0, 1, 6, 7, 4, 5) +
       __builtin_bit_cast(Float, __builtin_bit_cast(Word, *v) ^ kPairs);
  *v = __builtin_shufflevector(*v, *v, 4, 5, 6, 7, 0, 1, 2, 3) +
       __builtin_bit_cast(Float, __builtin_bit_cast(Word, *v) ^ kHalves);
}
WEFT_LATTICE_INLINE void StagesInside(SixteenLanes::Float* v) {
  using Word = SixteenLanes::Word;
  constexpr std::uint32_t n = 0x80000000U;
  constexpr Word kOdd = {0, n, 0, n, 0, n, 0, n, 0, n, 0, n, 0, n, 0, n};
  constexpr Word kPairs = {0, 0, n, n, 0, 0, n, n, 0, 0, n, n, 0, 0, n, n};
  constexpr Word kFours = {0, 0, 0, 0, n, n, n, n, 0, 0, 0, 0, n, n, n, n};
  constexpr Word kHalves = {0, 0, 0, 0, 0, 0, 0, 0, n, n, n, n, n, n, n, n};
  using Float = SixteenLanes::Float;
  *v = __builtin_shufflevector(*v, *v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14) +
       __builtin_bit_cast(Float, __builtin_bit_cast(Word, *v) ^ kOdd);
  *v = __builtin_shufflevector(*v, *v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13) +
       __builtin_bit_cast(Float, __builtin_bit_cast(Word, *v) ^ kPairs);
  *v = __builtin_shufflevector(*v, *v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11) +
       __builtin_bit_cast(Float, __builtin_bit_cast(Word, *v) ^ kFours);
  *v = __builtin_shufflevector(*v, *v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7) +
       __builtin_bit_cast(Float, __builtin_bit_cast(Word, *v) ^ kHalves);
}

// As many vectors as the registers hold.
template <typename W>
constexpr std::size_t kRadix = W::kLanes;

// The stages between `kRadix` vectors.
template <typename W>
WEFT_LATTICE_INLINE void StagesBetween(typename W::Float (&v)[kRadix<W>]) {
#pragma GCC unroll 4
  for (std::size_t distance = 1; distance < kRadix<W>; distance *= 2) {
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kRadix<W>; ++i) {
      if ((i & distance) != 0) continue;
      const typename W::Float a = v[i], b = v[i + distance];
      v[i] = a + b;
      v[i + distance] = a - b;
    }
  }
}

// The sign bits of the lanes from `at` on.
template <typename W>
WEFT_LATTICE_INLINE void SignsAt(std::uint64_t signs, std::size_t at, typename W::Word* mask) {
  typename W::Int shift;
#pragma GCC unroll 16
  for (std::size_t i = 0; i < W::kLanes; ++i) shift[i] = 31 - static_cast<int>(i);
  const typename W::Word bits = typename W::Word{} + static_cast<std::uint32_t>(signs >> at);
  *mask = (bits << __builtin_bit_cast(typename W::Word, shift)) & 0x80000000U;
}

// Stages up to a distance of half a chunk, a chunk being kRadix vectors.
template <typename W, bool kSigned>
WEFT_LATTICE_INLINE void TransformChunks(const Rotation& rotation, const float* x, float* z) {
  constexpr std::size_t kChunk = kRadix<W> * W::kLanes;
  using Float = typename W::Float;
  using Word = typename W::Word;
  for (std::size_t start = 0; start < rotation.m; start += kChunk) {
    Float v[kRadix<W>];
    std::uint64_t signs = 0;
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kRadix<W>; ++i) {
      const std::size_t at = start + i * W::kLanes;
      v[i] = FloatsAt<W>(x, at).v;
      if constexpr (kSigned) {
        // The next block's, which memory brings while this one is worked on.
        __builtin_prefetch(x + at + rotation.m);
        if (i * W::kLanes % kCodeGroup == 0) signs = RotationSigns(rotation.key, at / kCodeGroup);
        Word mask;
        SignsAt<W>(signs, i * W::kLanes % kCodeGroup, &mask);
        v[i] = __builtin_bit_cast(Float, __builtin_bit_cast(Word, v[i]) ^ mask);
      }
      StagesInside(&v[i]);
    }
    StagesBetween<W>(v);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kRadix<W>; ++i) FloatsAt<W>(z, start + i * W::kLanes).v = v[i];
  }
}

// Stages from `distance` on, as many as kRadix vectors take.
template <typename W>
WEFT_LATTICE_INLINE void TransformApart(std::size_t m, std::size_t distance, float* z) {
  for (std::size_t start = 0; start < m; start += distance * kRadix<W>) {
    for (std::size_t j = start; j < start + distance; j += W::kLanes) {
      typename W::Float v[kRadix<W>];
#pragma GCC unroll 16
      for (std::size_t i = 0; i < kRadix<W>; ++i) v[i] = FloatsAt<W>(z, j + i * distance).v;
      StagesBetween<W>(v);
#pragma GCC unroll 16
      for (std::size_t i = 0; i < kRadix<W>; ++i) FloatsAt<W>(z, j + i * distance).v = v[i];
    }
  }
}

template <typename W>
WEFT_LATTICE_INLINE void TransformOneStage(std::size_t m, std::size_t distance, float* z) {
  for (std::size_t start = 0; start < m; start += 2 * distance) {
    for (std::size_t j = start; j < start + distance; j += W::kLanes) {
      const typename W::Float a = FloatsAt<W>(z, j).v, b = FloatsAt<W>(z, j + distance).v;
      FloatsAt<W>(z, j).v = a + b;
      FloatsAt<W>(z, j + distance).v = a - b;
    }
  }
}

template <typename W, bool kSigned>
WEFT_LATTICE_INLINE void Transform(const Rotation& rotation, const float* x, float* z) {
  TransformChunks<W, kSigned>(rotation, x, z);
  std::size_t distance = kRadix<W> * W::kLanes;
  for (; distance * kRadix<W> <= rotation.m; distance *= kRadix<W>) TransformApart<W>(rotation.m, distance, z);
  for (; distance < rotation.m; distance *= 2) TransformOneStage<W>(rotation.m, distance, z);
}

template <typename W>
WEFT_LATTICE_INLINE void ScaleAndSign(const Rotation& rotation, const float* z, float* x) {
  using Word = typename W::Word;
  const float factor = 1.0F / static_cast<float>(rotation.m);
  for (std::size_t group = 0; group < rotation.m / kCodeGroup; ++group) {
    const std::uint64_t signs = RotationSigns(rotation.key, group);
#pragma GCC unroll 8
    for (std::size_t lane = 0; lane < kCodeGroup; lane += W::kLanes) {
      const std::size_t at = group * kCodeGroup + lane;
      Word mask;
      SignsAt<W>(signs, lane, &mask);
      const typename W::Float scaled = FloatsAt<W>(z, at).v * factor;
      FloatsAt<W>(x, at).v = __builtin_bit_cast(typename W::Float, __builtin_bit_cast(Word, scaled) ^ mask);
    }
  }
}

template <typename W>
WEFT_LATTICE_INLINE void UnrotateOf(const Rotation& rotation, float* z, float* x) {
  Transform<W, false>(rotation, z, z);
  ScaleAndSign<W>(rotation, z, x);
}

WEFT_LATTICE_WIDE void WideRotate(const Rotation& rotation, const float* x, float* z) {
  Transform<SixteenLanes, true>(rotation, x, z);
}
WEFT_LATTICE_WIDE void WideUnrotate(const Rotation& rotation, float* z, float* x) {
  UnrotateOf<SixteenLanes>(rotation, z, x);
}

// A chunk of the wide vectors has more than the smallest block.
bool UseWide(const Rotation& rotation) {
  return UseWideVectors(rotation.vectors) && rotation.m >= kRadix<SixteenLanes> * SixteenLanes::kLanes;
}

}  // namespace

void Rotate(const Rotation& rotation, const float* x, float* z) {
  if (UseWide(rotation)) {
    WideRotate(rotation, x, z);
  } else {
    Transform<EightLanes, true>(rotation, x, z);
  }
}

void Unrotate(const Rotation& rotation, float* z, float* x) {
  if (UseWide(rotation)) {
    WideUnrotate(rotation, z, x);
  } else {
    UnrotateOf<EightLanes>(rotation, z, x);
  }
}

void CopyPastCaches(const float* from, std::size_t count, float* to) {
#if defined(__x86_64__)
  if (reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4) _mm_stream_ps(to + i, _mm_loadu_ps(from + i));
    for (; i < count; ++i) to[i] = from[i];
    // Such stores are not ordered by themselves before what another thread is then told.
    _mm_sfence();
    return;
  }
#endif
  std::copy_n(from, count, to);
}

}  // namespace weft
