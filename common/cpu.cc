#include "common/cpu.h"

namespace weft {

Status CheckProcessor() {
#if defined(__AVX2__) && defined(__x86_64__)
  const char* missing = nullptr;
  if (!__builtin_cpu_supports("avx2")) missing = "AVX2";
  if (!__builtin_cpu_supports("fma")) missing = "FMA";
  if (!__builtin_cpu_supports("bmi2")) missing = "BMI2";
  if (missing != nullptr) {
    return FailedPreconditionError(std::string("this build needs an x86-64-v3 processor; this one lacks ") + missing);
  }
#endif
  return OkStatus();
}

}  // namespace weft
