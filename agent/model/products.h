// The matrix products of a training step, as if every convolution were one over an im2col matrix: what `weft bench
// model` holds a step against.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/model/model.h"

namespace weft {

// C[m, n] = A[m, k] B[k, n], with A or B lying transposed.
struct Product {
  enum class Form { kNN, kNT, kTN } form = Form::kNN;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t repeats = 1;  // in a step
};

// For each weight matrix and kernel of the model: forward, its gradient and, but for the first layer, its input's. A
// kernel's products are one image's, repeated. `outputs` gives, for layers with a kernel, the outputs of a channel:
// rows times columns. `rows` is what a linear layer sees at once: samples, or tokens.
std::vector<Product> WeightProducts(const std::vector<Layer>& layers, std::int64_t samples, std::int64_t rows,
                                    const std::vector<std::int64_t>& outputs);

// Causal attention's, forward and backward, for each head and sample of one layer.
std::vector<Product> AttentionProducts(std::int64_t context, std::int64_t head_width, std::int64_t repeats);

// Runs them all once with Eigen on operands of its own, made at construction.
class ProductRunner {
 public:
  explicit ProductRunner(std::vector<Product> products);
  void Run();
  double flops() const;  // additions and multiplications of one Run

 private:
  std::vector<Product> products_;
  std::vector<float> a_;
  std::vector<float> b_;
  std::vector<float> c_;
};

}  // namespace weft
