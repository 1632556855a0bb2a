// GCC's and Clang's vectors as the lattice code uses them, so that the same loops compile for AVX2, AVX-512 and, under
// the sanitizers, for neither. Never passed by value: the calling convention depends on the processor.
#pragma once

#include <cstddef>
#include <cstdint>

// Becomes part of its caller, and so is compiled for the processor that the caller is for.
#define WEFT_LATTICE_INLINE [[gnu::always_inline]] inline
#if defined(__x86_64__)
#define WEFT_LATTICE_WIDE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#else
#define WEFT_LATTICE_WIDE
#endif

namespace weft {

// The widest that the processor has, or 8 floats: for tests, which hold them against each other.
enum class LatticeVectors { kWidest, kEight };

inline bool HasWideVectors() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return has;
#else
  return false;
#endif
}

// Two structs, as GCC drops a vector's size when it depends on a template's parameter.
struct EightLanes {
  static constexpr std::size_t kLanes = 8;
  using Float = float __attribute__((vector_size(32)));
  using Int = std::int32_t __attribute__((vector_size(32)));
  using Word = std::uint32_t __attribute__((vector_size(32)));
  // The same anywhere in memory.
  struct __attribute__((packed, may_alias)) FloatInMemory {
    Float v;
  };
  struct __attribute__((packed, may_alias)) WordInMemory {
    Word v;
  };
};
struct SixteenLanes {
  static constexpr std::size_t kLanes = 16;
  using Float = float __attribute__((vector_size(64)));
  using Int = std::int32_t __attribute__((vector_size(64)));
  using Word = std::uint32_t __attribute__((vector_size(64)));
  // The same anywhere in memory.
  struct __attribute__((packed, may_alias)) FloatInMemory {
    Float v;
  };
  struct __attribute__((packed, may_alias)) WordInMemory {
    Word v;
  };
};

inline bool UseWideVectors(LatticeVectors vectors) { return vectors == LatticeVectors::kWidest && HasWideVectors(); }

// A vector of `W` at `i`.
template <typename W>
WEFT_LATTICE_INLINE const typename W::FloatInMemory& FloatsAt(const float* x, std::size_t i) {
  return *reinterpret_cast<const typename W::FloatInMemory*>(x + i);
}
template <typename W>
WEFT_LATTICE_INLINE typename W::FloatInMemory& FloatsAt(float* x, std::size_t i) {
  return *reinterpret_cast<typename W::FloatInMemory*>(x + i);
}

}  // namespace weft
