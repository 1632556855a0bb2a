#include "agent/model/gemm.h"

#include <Eigen/Core>

namespace weft {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstMap = Eigen::Map<const RowMajor, Eigen::Unaligned, Eigen::OuterStride<>>;
using Map = Eigen::Map<RowMajor, Eigen::Unaligned, Eigen::OuterStride<>>;

ConstMap View(ConstMatrix m) { return {m.data, m.rows, m.cols, Eigen::OuterStride<>(m.stride)}; }
Map View(Matrix m) { return {m.data, m.rows, m.cols, Eigen::OuterStride<>(m.stride)}; }

template <typename Product>
void Assign(Map c, const Product& product, Store store) {
  if (store == Store::kAdd) {
    c.noalias() += product;
  } else {
    c.noalias() = product;
  }
}

}  // namespace

void MultiplyNN(ConstMatrix a, ConstMatrix b, Matrix c, Store store) { Assign(View(c), View(a) * View(b), store); }

void MultiplyNT(ConstMatrix a, ConstMatrix b, Matrix c, Store store) {
  Assign(View(c), View(a) * View(b).transpose(), store);
}

void MultiplyTN(ConstMatrix a, ConstMatrix b, Matrix c, Store store) {
  Assign(View(c), View(a).transpose() * View(b), store);
}

}  // namespace weft
