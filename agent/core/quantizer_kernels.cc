#include "agent/core/quantizer_kernels.h"

#include <algorithm>
#include <cmath>

#include "agent/core/quantizer_dither.h"
#include "agent/core/quantizer_planes.h"
#include "agent/core/quantizer_vectors.h"

namespace weft {
namespace {

// Adding it leaves a float's nearest integer in the low bits, for magnitudes below 2^22.
constexpr float kRounder = 0x1.8p23F;
constexpr std::uint32_t kRounderBits = 0x4b400000U;
constexpr std::uint32_t kMagnitudeBits = 0x7fffffffU;

// The shifts and masks of a width; constants of the loop where the width is (kBits not 0).
template <int kBits>
struct Width {
  int runtime_bits;
  WEFT_LATTICE_INLINE int bits() const { return kBits != 0 ? kBits : runtime_bits; }
  WEFT_LATTICE_INLINE int fraction() const { return 32 - bits(); }
  WEFT_LATTICE_INLINE std::uint32_t half() const { return 1U << (fraction() - 1); }
  WEFT_LATTICE_INLINE std::uint32_t whole() const { return ~0U << fraction(); }
};

// How codes of `kCodeBytes` lie in 32-bit words (quantizer_planes.h): kParts to a word, kStride coordinates apart.
template <int kCodeBytes>
struct Slots {
  static constexpr int kBits = 8 * kCodeBytes;
  static constexpr std::size_t kParts = 4 / kCodeBytes;
  static constexpr std::size_t kStride = kCodeGroup / kParts;
};

template <typename W>
WEFT_LATTICE_INLINE const typename W::WordInMemory& WordsAt(const std::byte* codes, std::size_t word) {
  return *reinterpret_cast<const typename W::WordInMemory*>(codes + 4 * word);
}
template <typename W>
WEFT_LATTICE_INLINE typename W::WordInMemory& WordsAt(std::byte* codes, std::size_t word) {
  return *reinterpret_cast<typename W::WordInMemory*>(codes + 4 * word);
}
// C_l of the lanes from `lane` on.
template <typename W>
WEFT_LATTICE_INLINE const typename W::WordInMemory& FactorsAt(std::size_t lane) {
  return *reinterpret_cast<const typename W::WordInMemory*>(kLaneFactors.of.data() + lane);
}

WEFT_LATTICE_INLINE std::uint32_t GroupFactor(std::uint64_t block_key, std::size_t group, GroupFactors* pair) {
  if (group % 2 != 0) return pair->odd;
  *pair = FactorsOf(block_key, group / 2);
  return pair->even;
}

template <typename W>
WEFT_LATTICE_INLINE std::uint32_t SumOfLanes(const typename W::Word& v) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < W::kLanes; ++i) sum += v[i];
  return sum;
}

template <typename W>
WEFT_LATTICE_INLINE std::uint32_t LargestOfLanes(const typename W::Int& v) {
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < W::kLanes; ++i) largest = std::max(largest, std::int32_t{v[i]});
  return static_cast<std::uint32_t>(largest);
}

template <typename W>
WEFT_LATTICE_INLINE void MaxMagnitude(const typename W::Float& x, typename W::Int* largest) {
  using Int = typename W::Int;
  const Int magnitude = __builtin_bit_cast(Int, x) & static_cast<std::int32_t>(kMagnitudeBits);
  *largest = magnitude > *largest ? magnitude : *largest;
}

template <typename W>
WEFT_LATTICE_INLINE std::uint32_t Largest(const float* x, std::size_t count) {
  typename W::Int largest[4] = {};
  std::size_t i = 0;
  for (; i + 4 * W::kLanes <= count; i += 4 * W::kLanes) {
#pragma GCC unroll 4
    for (std::size_t j = 0; j < 4; ++j) {
      const typename W::Float v = FloatsAt<W>(x, i + j * W::kLanes).v;
      MaxMagnitude<W>(v, &largest[j]);
    }
  }
  std::uint32_t result = 0;
  for (const auto& part : largest) result = std::max(result, LargestOfLanes<W>(part));
  for (; i < count; ++i) result = std::max(result, __builtin_bit_cast(std::uint32_t, x[i]) & kMagnitudeBits);
  return result;
}

template <typename W, int kBits, int kCodeBytes>
WEFT_LATTICE_INLINE void EncodeDelta(const Lattice& lattice, const float* x, std::byte* codes, float* decoded) {
  using Float = typename W::Float;
  using Int = typename W::Int;
  using Word = typename W::Word;
  using S = Slots<kCodeBytes>;
  const Width<kBits> width{lattice.bits};
  const float unit = std::ldexp(lattice.scale, -width.fraction());
  const float inverse_unit = std::ldexp(lattice.inverse(), width.fraction());
  GroupFactors pair;
  for (std::size_t group = 0; group < lattice.count / kCodeGroup; ++group) {
    const std::uint32_t factor = GroupFactor(lattice.block_key, group, &pair);
#pragma GCC unroll 4
    for (std::size_t t = 0; t < S::kStride; t += W::kLanes) {
      Word word = {};
#pragma GCC unroll 4
      for (std::size_t part = 0; part < S::kParts; ++part) {
        const std::size_t lane = part * S::kStride + t;
        const Word u = (FactorsAt<W>(lane).v * factor) >> width.bits();
        const Float v = FloatsAt<W>(x, group * kCodeGroup + lane).v * inverse_unit;
        const Word sum = __builtin_bit_cast(Word, __builtin_convertvector(v, Int)) + u;
        const Word code = sum & width.whole();
        word |= code >> (width.fraction() - S::kBits * static_cast<int>(part));
        const Word w = (code | width.half()) - u;
        FloatsAt<W>(decoded, group * kCodeGroup + lane).v =
            __builtin_convertvector(__builtin_bit_cast(Int, w), Float) * unit;
      }
      WordsAt<W>(codes, group * S::kStride + t).v = word;
    }
  }
}

// k - u of a code, in units of 2^(b-32) and modulo 2^32: `word` holds it as its `part`.
template <typename Word, int kBits>
WEFT_LATTICE_INLINE void Wrapped(const Width<kBits>& width, const Word& word, int shift, const Word& h, Word* w) {
  *w = (((word << (width.fraction() - shift)) & width.whole()) | width.half()) - (h >> width.bits());
}

template <typename W, int kBits, bool kAdd, int kCodeBytes>
WEFT_LATTICE_INLINE void DecodeDelta(const Lattice& lattice, const std::byte* codes, float* x) {
  using Float = typename W::Float;
  using Int = typename W::Int;
  using Word = typename W::Word;
  using S = Slots<kCodeBytes>;
  const Width<kBits> width{lattice.bits};
  const float unit = std::ldexp(lattice.scale, -width.fraction());
  GroupFactors pair;
  for (std::size_t group = 0; group < lattice.count / kCodeGroup; ++group) {
    const std::uint32_t factor = GroupFactor(lattice.block_key, group, &pair);
#pragma GCC unroll 4
    for (std::size_t t = 0; t < S::kStride; t += W::kLanes) {
      const Word word = WordsAt<W>(codes, group * S::kStride + t).v;
#pragma GCC unroll 4
      for (std::size_t part = 0; part < S::kParts; ++part) {
        const std::size_t lane = part * S::kStride + t;
        const Word h = FactorsAt<W>(lane).v * factor;
        Word w;
        Wrapped(width, word, S::kBits * static_cast<int>(part), h, &w);
        const Float v = __builtin_convertvector(__builtin_bit_cast(Int, w), Float) * unit;
        const std::size_t at = group * kCodeGroup + lane;
        if constexpr (kAdd) {
          FloatsAt<W>(x, at).v = FloatsAt<W>(x, at).v + v;
        } else {
          FloatsAt<W>(x, at).v = v;
        }
      }
    }
  }
}

template <typename W>
WEFT_LATTICE_INLINE std::uint32_t EncodeRegister(const Lattice& lattice, const float* x, std::int32_t* k) {
  using Float = typename W::Float;
  using Int = typename W::Int;
  using Word = typename W::Word;
  const Width<0> width{lattice.bits};
  const float inverse = lattice.inverse();
  const float unit = std::ldexp(1.0F, -width.fraction());
  const auto half = static_cast<std::int32_t>(width.half());
  const std::int32_t half_q = 1 << (width.bits() - 1);
  Word hash = {};
  GroupFactors pair;
  for (std::size_t group = 0; group < lattice.count / kCodeGroup; ++group) {
    const std::uint32_t factor = GroupFactor(lattice.block_key, group, &pair);
#pragma GCC unroll 4
    for (std::size_t lane = 0; lane < kCodeGroup; lane += W::kLanes) {
      const std::size_t at = group * kCodeGroup + lane;
      const Word h = FactorsAt<W>(lane).v * factor;
      const Int u = __builtin_bit_cast(Int, h >> width.bits()) - half;
      const Float v = FloatsAt<W>(x, at).v * inverse + __builtin_convertvector(u, Float) * unit;
      const Float rounded = v + kRounder;
      const Int integer = __builtin_bit_cast(Int, rounded) - static_cast<std::int32_t>(kRounderBits);
      reinterpret_cast<typename W::WordInMemory*>(k + at)->v = __builtin_bit_cast(Word, integer);
      // floor((k - u) / q + 1/2): a u above 0 takes k + q/2 below the multiple of q that it would reach.
      const Int wraps = (integer + half_q + (-u >> 31)) >> width.bits();
      hash += __builtin_bit_cast(Word, wraps) * h;
    }
  }
  return SumOfLanes<W>(hash);
}

template <typename W, int kBits, int kCodeBytes>
WEFT_LATTICE_INLINE DecodedBlock DecodeRegister(const Lattice& lattice, const std::byte* codes, const float* y,
                                                float* x) {
  using Float = typename W::Float;
  using Int = typename W::Int;
  using Word = typename W::Word;
  using S = Slots<kCodeBytes>;
  const Width<kBits> width{lattice.bits};
  const float wrap = lattice.scale * lattice.steps();
  const float inverse_wrap = lattice.inverse() / lattice.steps();
  Word hash = {};
  Int largest = {};
  std::uint32_t factors = 0;
  GroupFactors pair;
  for (std::size_t group = 0; group < lattice.count / kCodeGroup; ++group) {
    const std::uint32_t factor = GroupFactor(lattice.block_key, group, &pair);
    factors += factor;
#pragma GCC unroll 4
    for (std::size_t t = 0; t < S::kStride; t += W::kLanes) {
      const Word word = WordsAt<W>(codes, group * S::kStride + t).v;
#pragma GCC unroll 4
      for (std::size_t p = 0; p < S::kParts; ++p) {
        const std::size_t lane = p * S::kStride + t;
        const Word h = FactorsAt<W>(lane).v * factor;
        Word w;
        Wrapped(width, word, S::kBits * static_cast<int>(p), h, &w);
        const Float part = __builtin_convertvector(__builtin_bit_cast(Int, w), Float) * 0x1p-32F;
        const Float key = FloatsAt<W>(y, group * kCodeGroup + lane).v;
        const Float rounded = (key * inverse_wrap - part) + kRounder;
        hash += __builtin_bit_cast(Word, rounded) * h;
        const Float value = (part + (rounded - kRounder)) * wrap;
        const Float difference = value - key;
        MaxMagnitude<W>(difference, &largest);
        FloatsAt<W>(x, group * kCodeGroup + lane).v = value;
      }
    }
  }
  // Each term had the rounder's bits on r.
  return {.hash = SumOfLanes<W>(hash) - kRounderBits * (factors * kLaneFactors.sum),
          .distance = __builtin_bit_cast(float, LargestOfLanes<W>(largest))};
}

// One function a processor and loop, in variants: 8 bits, which is the default, fewer, and more.
template <typename W>
WEFT_LATTICE_INLINE void EncodeDeltaOf(const Lattice& lattice, const float* x, std::byte* codes, float* decoded) {
  if (lattice.bits == 8) return EncodeDelta<W, 8, 1>(lattice, x, codes, decoded);
  if (lattice.bits < 8) return EncodeDelta<W, 0, 1>(lattice, x, codes, decoded);
  EncodeDelta<W, 0, 2>(lattice, x, codes, decoded);
}
template <typename W, bool kAdd>
WEFT_LATTICE_INLINE void DecodeDeltaOf(const Lattice& lattice, const std::byte* codes, float* x) {
  if (lattice.bits == 8) return DecodeDelta<W, 8, kAdd, 1>(lattice, codes, x);
  if (lattice.bits < 8) return DecodeDelta<W, 0, kAdd, 1>(lattice, codes, x);
  DecodeDelta<W, 0, kAdd, 2>(lattice, codes, x);
}
template <typename W>
WEFT_LATTICE_INLINE DecodedBlock DecodeRegisterOf(const Lattice& lattice, const std::byte* codes, const float* y,
                                                  float* x) {
  if (lattice.bits == 8) return DecodeRegister<W, 8, 1>(lattice, codes, y, x);
  if (lattice.bits < 8) return DecodeRegister<W, 0, 1>(lattice, codes, y, x);
  return DecodeRegister<W, 0, 2>(lattice, codes, y, x);
}

WEFT_LATTICE_WIDE std::uint32_t WideLargest(const float* x, std::size_t count) {
  return Largest<SixteenLanes>(x, count);
}
WEFT_LATTICE_WIDE void WideEncodeDelta(const Lattice& lattice, const float* x, std::byte* codes, float* decoded) {
  EncodeDeltaOf<SixteenLanes>(lattice, x, codes, decoded);
}
WEFT_LATTICE_WIDE void WideDecodeDelta(const Lattice& lattice, const std::byte* codes, float* x) {
  DecodeDeltaOf<SixteenLanes, false>(lattice, codes, x);
}
WEFT_LATTICE_WIDE void WideAddDelta(const Lattice& lattice, const std::byte* codes, float* sum) {
  DecodeDeltaOf<SixteenLanes, true>(lattice, codes, sum);
}
WEFT_LATTICE_WIDE std::uint32_t WideEncodeRegister(const Lattice& lattice, const float* x, std::int32_t* k) {
  return EncodeRegister<SixteenLanes>(lattice, x, k);
}
WEFT_LATTICE_WIDE DecodedBlock WideDecodeRegister(const Lattice& lattice, const std::byte* codes, const float* y,
                                                  float* x) {
  return DecodeRegisterOf<SixteenLanes>(lattice, codes, y, x);
}

}  // namespace

std::uint32_t LargestMagnitude(LatticeVectors vectors, const float* x, std::size_t count) {
  return UseWideVectors(vectors) ? WideLargest(x, count) : Largest<EightLanes>(x, count);
}

void EncodeDeltaBlock(const Lattice& lattice, const float* x, std::byte* codes, float* decoded) {
  if (UseWideVectors(lattice.vectors)) {
    WideEncodeDelta(lattice, x, codes, decoded);
  } else {
    EncodeDeltaOf<EightLanes>(lattice, x, codes, decoded);
  }
}

void DecodeDeltaBlock(const Lattice& lattice, const std::byte* codes, float* x) {
  if (UseWideVectors(lattice.vectors)) {
    WideDecodeDelta(lattice, codes, x);
  } else {
    DecodeDeltaOf<EightLanes, false>(lattice, codes, x);
  }
}

void AddDeltaBlock(const Lattice& lattice, const std::byte* codes, float* sum) {
  if (UseWideVectors(lattice.vectors)) {
    WideAddDelta(lattice, codes, sum);
  } else {
    DecodeDeltaOf<EightLanes, true>(lattice, codes, sum);
  }
}

std::uint32_t EncodeRegisterBlock(const Lattice& lattice, const float* x, std::int32_t* k) {
  return UseWideVectors(lattice.vectors) ? WideEncodeRegister(lattice, x, k)
                                         : EncodeRegister<EightLanes>(lattice, x, k);
}

DecodedBlock DecodeRegisterBlock(const Lattice& lattice, const std::byte* codes, const float* y, float* x) {
  return UseWideVectors(lattice.vectors) ? WideDecodeRegister(lattice, codes, y, x)
                                         : DecodeRegisterOf<EightLanes>(lattice, codes, y, x);
}

DecodedBlock DecodeLevelBlock(const Lattice& lattice, int code_bits, const std::uint32_t* codes, const float* y,
                              float* x) {
  const Width<0> width{lattice.bits};
  const double step = std::ldexp(1.0, code_bits);
  const double q = std::ldexp(1.0, width.bits());
  DecodedBlock result;
  for (std::size_t j = 0; j < lattice.count; ++j) {
    const std::uint32_t h = DitherWord(lattice.block_key, j);
    const double u = std::ldexp(static_cast<double>(h >> width.bits()), -width.fraction()) - 0.5;
    const double known = codes[j] - u;
    const double number = known + step * std::nearbyint((y[j] / static_cast<double>(lattice.scale) - known) / step);
    const auto value = static_cast<float>(number * lattice.scale);
    const float distance = std::abs(value - y[j]);
    x[j] = value;
    // A number beyond what an encoder writes is wrong, and might not fit.
    const double wraps = std::floor(number / q + 0.5);
    const bool fits = wraps > -0x1p30 && wraps < 0x1p30;
    result.hash += static_cast<std::uint32_t>(fits ? static_cast<std::int32_t>(wraps) : 0) * h;
    // Written so that NaN stays.
    result.distance = distance <= result.distance ? result.distance : distance;
  }
  return result;
}

}  // namespace weft
