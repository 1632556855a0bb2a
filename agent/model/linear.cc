#include "agent/model/linear.h"

#include "agent/model/gemm.h"
#include "agent/model/ops.h"

namespace weft {

void LinearForward(LinearShape shape, std::int64_t n, const float* weight, const float* bias, Activation activation,
                   const float* x, float* y) {
  MultiplyNT({x, n, shape.in, shape.in}, {weight, shape.out, shape.in, shape.in}, {y, n, shape.out, shape.out});
  if (activation == Activation::kRelu) {
    AddBiasRelu(n, shape.out, bias, y);
  } else {
    AddBias(n, shape.out, bias, y);
  }
}

void LinearBackward(LinearShape shape, std::int64_t n, const float* weight, const float* x, const float* dy,
                    float* dweight, float* dbias, float* dx) {
  MultiplyTN({dy, n, shape.out, shape.out}, {x, n, shape.in, shape.in}, {dweight, shape.out, shape.in, shape.in});
  ColumnSum(n, shape.out, dy, dbias);
  if (dx != nullptr) {
    MultiplyNN({dy, n, shape.out, shape.out}, {weight, shape.out, shape.in, shape.in}, {dx, n, shape.in, shape.in});
  }
}

}  // namespace weft
