// Two-dimensional convolutions of square kernels on dense float32 arrays [n, channels, height, width], direct: no
// im2col matrix is made.
//
// How: each image is copied into zero-padded planes. In them an output at (row, column) reads, for each tap (channel,
// ky, kx), the float at row * pitch + column plus an offset that belongs to the tap alone. So all outputs of a channel
// are one long run of vectors, with a few columns of waste between rows, and a tile of channels times vectors stays in
// registers while it walks the list of taps. With a stride of s the planes are split by (row mod s, column mod s), and
// again a tap is an offset. The gradient of the input is the same walk over the padded gradient with the kernel turned;
// the gradient of the weights is, per channel and tap, the product of two runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace weft {

// Floats from the start of a cache line on: vectors that lie across two cost twice.
template <typename T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};
  LineAllocator() = default;
  template <typename U>
  LineAllocator(const LineAllocator<U>& /*other*/) {}  // NOLINT(google-explicit-constructor)
  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* values, std::size_t /*count*/) { ::operator delete(values, kLine); }
  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
};
using LineVector = std::vector<float, LineAllocator<float>>;

struct ConvolutionShape {
  std::int64_t in_channels = 0;
  std::int64_t out_channels = 0;
  std::int64_t height = 0;  // of the input
  std::int64_t width = 0;
  std::int64_t kernel = 0;
  std::int64_t stride = 1;
  std::int64_t padding = 0;  // below kernel

  std::int64_t out_height() const { return (height + 2 * padding - kernel) / stride + 1; }
  std::int64_t out_width() const { return (width + 2 * padding - kernel) / stride + 1; }
  std::int64_t in_floats() const { return in_channels * height * width; }
  std::int64_t out_floats() const { return out_channels * out_height() * out_width(); }
  std::int64_t taps() const { return in_channels * kernel * kernel; }
};

// The vectors that the inner loops run on: the widest that the processor has, or AVX2's, as where it has no wider ones.
enum class Vectors { kWidest, kAvx2 };

// One thread at a time: it owns the padded planes, which one call after another overwrites. Nothing is allocated after
// construction.
class Convolution {
 public:
  // The output is at least 1 by 1.
  explicit Convolution(const ConvolutionShape& shape, Vectors vectors = Vectors::kWidest);

  const ConvolutionShape& shape() const { return shape_; }

  // y[n, o, i, j] = bias[o] + sum over c, ky, kx of w[o, c, ky, kx] x[n, c, s i + ky - p, s j + kx - p], x being 0
  // outside of the image. y is overwritten. bias may be null.
  void Forward(std::int64_t n, const float* weight, const float* bias, const float* x, float* y);

  // dw and, unless null, dbias: summed over n, overwritten.
  void BackwardWeight(std::int64_t n, const float* x, const float* dy, float* dweight, float* dbias);

  // dx, overwritten.
  void BackwardInput(std::int64_t n, const float* weight, const float* dy, float* dx);

 private:
  // Rows and columns of the input that are one class modulo the stride, with the taps that reach it.
  struct Phase {
    std::int64_t first_row = 0;  // of the input
    std::int64_t first_col = 0;
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::ptrdiff_t start = 0;               // of the run, in the padded gradient
    std::vector<std::ptrdiff_t> offsets;    // [out_channels, taps of the phase]
    std::vector<std::int64_t> kernel_taps;  // ky * kernel + kx
  };

  void PackInput(const float* x, float* planes) const;
  void PackWeights(const float* weight);
  void PackTurnedWeights(const Phase& phase, const float* weight);

  const ConvolutionShape shape_;
  const Vectors vectors_;
  // The padded input.
  std::int64_t pitch_ = 0;
  std::int64_t plane_ = 0;               // floats of one channel and phase
  std::int64_t input_size_ = 0;          // floats of one image, with slack for the last vector
  std::int64_t run_ = 0;                 // outputs of one channel, waste included
  std::vector<std::ptrdiff_t> offsets_;  // [taps]
  std::int64_t block_ = 1;               // images that BackwardWeight takes together
  LineVector input_planes_;              // [block, input_size_]
  LineVector run_gradients_;             // [block, out_channels rounded up, run_ rounded up]; 0 between the rows
  // The padded gradient, for BackwardInput.
  std::int64_t gradient_pitch_ = 0;
  std::int64_t gradient_plane_ = 0;
  std::int64_t gradient_border_ = 0;
  std::vector<Phase> phases_;
  LineVector gradient_planes_;
  // Of whichever call runs.
  std::vector<float> packed_weights_;  // [tiles of channels, taps, channels in a tile]
  std::vector<float> packed_bias_;
  LineVector outputs_;  // [channels rounded up, run rounded up]
};

}  // namespace weft
