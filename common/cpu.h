// The processor that a release build needs.
#pragma once

#include "common/status.h"

namespace weft {

// FAILED_PRECONDITION with the missing feature's name on a processor older than x86-64-v3 (AVX2, FMA, BMI2) when this
// build was compiled for it; every main() calls it first.
Status CheckProcessor();

}  // namespace weft
