#include "agent/model/products.h"

#include <algorithm>
#include <utility>

#include "agent/model/gemm.h"

namespace weft {

std::vector<Product> WeightProducts(const std::vector<Layer>& layers, std::int64_t samples, std::int64_t rows,
                                    const std::vector<std::int64_t>& outputs) {
  using Form = Product::Form;
  std::vector<Product> products;
  auto area = outputs.begin();
  for (const Layer& layer : layers) {
    for (const Parameter& parameter : layer.parameters) {
      const std::vector<std::int64_t>& shape = parameter.shape;
      const bool first = products.empty();
      if (shape.size() == 4 && area != outputs.end()) {
        const std::int64_t taps = shape[1] * shape[2] * shape[3];
        products.push_back({Form::kNN, shape[0], *area, taps, samples});
        products.push_back({Form::kNT, shape[0], taps, *area, samples});
        if (!first) products.push_back({Form::kTN, taps, *area, shape[0], samples});
        ++area;
      } else if (shape.size() == 2) {
        products.push_back({Form::kNT, rows, shape[0], shape[1], 1});
        products.push_back({Form::kTN, shape[0], shape[1], rows, 1});
        if (!first) products.push_back({Form::kNN, rows, shape[1], shape[0], 1});
      }
    }
  }
  return products;
}

std::vector<Product> AttentionProducts(std::int64_t context, std::int64_t head_width, std::int64_t repeats) {
  using Form = Product::Form;
  return {{Form::kNT, context, context, head_width, 2 * repeats},
          {Form::kNN, context, head_width, context, 2 * repeats},
          {Form::kTN, context, head_width, context, 2 * repeats}};
}

ProductRunner::ProductRunner(std::vector<Product> products) : products_(std::move(products)) {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t c = 0;
  for (const Product& p : products_) {
    a = std::max(a, p.m * p.k);
    b = std::max(b, p.k * p.n);
    c = std::max(c, p.m * p.n);
  }
  a_.assign(static_cast<std::size_t>(a), 0.5F);
  b_.assign(static_cast<std::size_t>(b), 0.25F);
  c_.assign(static_cast<std::size_t>(c), 0.0F);
}

void ProductRunner::Run() {
  for (const Product& p : products_) {
    const ConstMatrix a{a_.data(), p.m, p.k, p.k};
    const ConstMatrix b{b_.data(), p.k, p.n, p.n};
    const Matrix c{c_.data(), p.m, p.n, p.n};
    for (std::int64_t i = 0; i < p.repeats; ++i) {
      switch (p.form) {
        case Product::Form::kNN:
          MultiplyNN(a, b, c);
          break;
        case Product::Form::kNT:
          MultiplyNT(a, {b_.data(), p.n, p.k, p.k}, c);
          break;
        case Product::Form::kTN:
          MultiplyTN({a_.data(), p.k, p.m, p.m}, b, c);
          break;
      }
    }
  }
}

double ProductRunner::flops() const {
  double sum = 0;
  for (const Product& p : products_) {
    sum += 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) *
           static_cast<double>(p.repeats);
  }
  return sum;
}

}  // namespace weft
