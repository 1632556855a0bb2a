// Products of row-major float32 matrices, on one thread. The only file of the models that compiles Eigen's products.
#pragma once

#include <cstdint>

namespace weft {

// A row-major matrix inside a larger one: element (i, j) is data[i * stride + j].
struct ConstMatrix {
  const float* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t stride = 0;
};
struct Matrix {
  float* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t stride = 0;
};

enum class Store { kOverwrite, kAdd };

// Shapes are those of the operands as they lie: C[m, n] = A[m, k] B[k, n], or C += with Store::kAdd.
void MultiplyNN(ConstMatrix a, ConstMatrix b, Matrix c, Store store = Store::kOverwrite);
// C[m, n] = A[m, k] B[n, k]^T.
void MultiplyNT(ConstMatrix a, ConstMatrix b, Matrix c, Store store = Store::kOverwrite);
// C[m, n] = A[k, m]^T B[k, n].
void MultiplyTN(ConstMatrix a, ConstMatrix b, Matrix c, Store store = Store::kOverwrite);

}  // namespace weft
