#include "agent/model/convolution.h"

#include <algorithm>
#include <cstring>

#include "agent/model/convolution_kernels.h"

namespace weft {
namespace {

constexpr std::int64_t RoundUp(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

std::size_t Size(std::int64_t value) { return static_cast<std::size_t>(value); }

// A gradient's sum over a plane that is short is dominated by adding up the lanes of a vector at its end, so images are
// taken together until a run is about this long.
constexpr std::int64_t kRunTarget = 1024;

}  // namespace

Convolution::Convolution(const ConvolutionShape& shape, Vectors vectors) : shape_(shape), vectors_(vectors) {
  const std::int64_t k = shape.kernel;
  const std::int64_t s = shape.stride;
  const std::int64_t p = shape.padding;
  const std::int64_t oh = shape.out_height();
  const std::int64_t ow = shape.out_width();

  pitch_ = (shape.width + 2 * p + s - 1) / s;
  plane_ = pitch_ * ((shape.height + 2 * p + s - 1) / s);
  input_size_ = RoundUp(plane_ * shape.in_channels * s * s + kRunSlack, kVectorFloats);
  run_ = (oh - 1) * pitch_ + ow;
  for (std::int64_t c = 0; c < shape.in_channels; ++c) {
    for (std::int64_t ky = 0; ky < k; ++ky) {
      for (std::int64_t kx = 0; kx < k; ++kx) {
        offsets_.push_back((c * s * s + ky % s * s + kx % s) * plane_ + ky / s * pitch_ + kx / s);
      }
    }
  }
  block_ = std::clamp<std::int64_t>(kRunTarget / run_, 1, 16);
  input_planes_.assign(Size(block_ * input_size_), 0.0F);
  const std::int64_t out_rounded = RoundUp(shape.out_channels, kMaxTileChannels);
  const std::int64_t run_rounded = RoundUp(run_, kVectorFloats);
  run_gradients_.assign(Size(block_ * out_rounded * run_rounded), 0.0F);

  // Input row y lies in class a = (y + p) mod s at j = (y + p) div s, and tap ky = a + s m reads gradient row j - m.
  std::int64_t last = ow;  // one past the furthest row or column that is read, at least the gradient's own
  last = std::max(last, oh);
  for (std::int64_t a = 0; a < s; ++a) {
    const std::int64_t j = (p - a + s - 1) / s;
    gradient_border_ = std::max(gradient_border_, (k - 1 - a) / s - j);
    last = std::max({last, (shape.height - 1 + p) / s + 1, (shape.width - 1 + p) / s + 1});
  }
  gradient_pitch_ = gradient_border_ + std::max(ow, (shape.width - 1 + p) / s + 1);
  gradient_plane_ = gradient_pitch_ * (gradient_border_ + std::max(oh, (shape.height - 1 + p) / s + 1));
  gradient_planes_.assign(Size(gradient_plane_ * shape.out_channels + kRunSlack), 0.0F);
  std::int64_t longest = run_;
  for (std::int64_t a = 0; a < s; ++a) {
    for (std::int64_t b = 0; b < s; ++b) {
      Phase phase;
      const std::int64_t jy = (p - a + s - 1) / s;
      const std::int64_t jx = (p - b + s - 1) / s;
      phase.first_row = jy * s + a - p;
      phase.first_col = jx * s + b - p;
      if (phase.first_row >= shape.height || phase.first_col >= shape.width) continue;
      phase.rows = (shape.height - 1 - phase.first_row) / s + 1;
      phase.cols = (shape.width - 1 - phase.first_col) / s + 1;
      phase.start = (jy + gradient_border_) * gradient_pitch_ + jx + gradient_border_;
      for (std::int64_t ky = a; ky < k; ky += s) {
        for (std::int64_t kx = b; kx < k; kx += s) phase.kernel_taps.push_back(ky * k + kx);
      }
      for (std::int64_t o = 0; o < shape.out_channels; ++o) {
        for (const std::int64_t tap : phase.kernel_taps) {
          phase.offsets.push_back(o * gradient_plane_ - tap / k / s * gradient_pitch_ - tap % k / s);
        }
      }
      longest = std::max(longest, (phase.rows - 1) * gradient_pitch_ + phase.cols);
      phases_.push_back(std::move(phase));
    }
  }
  const std::int64_t in_rounded = RoundUp(shape.in_channels, kMaxTileChannels);
  packed_weights_.assign(Size(std::max(out_rounded * shape.taps(), in_rounded * shape.out_channels * k * k)), 0.0F);
  packed_bias_.assign(Size(std::max(out_rounded, in_rounded)), 0.0F);
  outputs_.assign(Size(std::max(out_rounded, in_rounded) * RoundUp(longest, kVectorFloats)), 0.0F);
}

void Convolution::PackInput(const float* x, float* planes) const {
  const std::int64_t s = shape_.stride;
  const std::int64_t p = shape_.padding;
  for (std::int64_t c = 0; c < shape_.in_channels; ++c) {
    for (std::int64_t y = 0; y < shape_.height; ++y, x += shape_.width) {
      float* phase_row = planes + (c * s * s + (y + p) % s * s) * plane_ + (y + p) / s * pitch_;
      if (s == 1) {
        std::memcpy(phase_row + p, x, Size(shape_.width) * sizeof(float));
        continue;
      }
      for (std::int64_t b = 0; b < s; ++b) {
        const std::int64_t j = (p - b + s - 1) / s;  // the first column of this class that is inside the image
        float* row = phase_row + b * plane_ + j;
        for (std::int64_t from = j * s + b - p; from < shape_.width; from += s) *row++ = x[from];
      }
    }
  }
}

void Convolution::PackWeights(const float* weight) {
  const std::int64_t tile = TileChannels(shape_.out_channels);
  const std::int64_t taps = shape_.taps();
  float* to = packed_weights_.data();
  for (std::int64_t o = 0; o < shape_.out_channels; o += tile) {
    for (std::int64_t t = 0; t < taps; ++t) {
      for (std::int64_t r = 0; r < tile; ++r) *to++ = o + r < shape_.out_channels ? weight[(o + r) * taps + t] : 0.0F;
    }
  }
}

void Convolution::PackTurnedWeights(const Phase& phase, const float* weight) {
  const std::int64_t tile = TileChannels(shape_.in_channels);
  const std::int64_t area = shape_.kernel * shape_.kernel;
  float* to = packed_weights_.data();
  for (std::int64_t c = 0; c < shape_.in_channels; c += tile) {
    for (std::int64_t o = 0; o < shape_.out_channels; ++o) {
      for (const std::int64_t tap : phase.kernel_taps) {
        for (std::int64_t r = 0; r < tile; ++r) {
          *to++ = c + r < shape_.in_channels ? weight[(o * shape_.in_channels + c + r) * area + tap] : 0.0F;
        }
      }
    }
  }
}

void Convolution::Forward(std::int64_t n, const float* weight, const float* bias, const float* x, float* y) {
  PackWeights(weight);
  for (std::int64_t o = 0; o < shape_.out_channels; ++o) packed_bias_[Size(o)] = bias == nullptr ? 0.0F : bias[o];
  const std::int64_t oh = shape_.out_height();
  const std::int64_t ow = shape_.out_width();
  const std::int64_t out_pitch = RoundUp(run_, kVectorFloats);
  for (std::int64_t image = 0; image < n; ++image, x += shape_.in_floats()) {
    PackInput(x, input_planes_.data());
    ConvolveRun({.input = input_planes_.data(),
                 .input_floats = input_size_,
                 .offsets = offsets_,
                 .weights = packed_weights_.data(),
                 .bias = packed_bias_.data(),
                 .channels = shape_.out_channels,
                 .run = run_,
                 .output = outputs_.data(),
                 .output_pitch = out_pitch,
                 .vectors = vectors_});
    for (std::int64_t o = 0; o < shape_.out_channels; ++o) {
      const float* from = outputs_.data() + o * out_pitch;
      for (std::int64_t row = 0; row < oh; ++row, y += ow) {
        std::memcpy(y, from + row * pitch_, Size(ow) * sizeof(float));
      }
    }
  }
}

void Convolution::BackwardWeight(std::int64_t n, const float* x, const float* dy, float* dweight, float* dbias) {
  const std::int64_t oh = shape_.out_height();
  const std::int64_t ow = shape_.out_width();
  const std::int64_t run_pitch = RoundUp(run_, kVectorFloats);
  const std::int64_t image_gradients = RoundUp(shape_.out_channels, kMaxTileChannels) * run_pitch;
  std::fill_n(dweight, shape_.out_channels * shape_.taps(), 0.0F);
  if (dbias != nullptr) std::fill_n(dbias, shape_.out_channels, 0.0F);
  for (std::int64_t first = 0; first < n; first += block_) {
    const std::int64_t images = std::min(block_, n - first);
    for (std::int64_t i = 0; i < images; ++i, x += shape_.in_floats()) {
      PackInput(x, input_planes_.data() + i * input_size_);
      for (std::int64_t o = 0; o < shape_.out_channels; ++o) {
        float* to = run_gradients_.data() + i * image_gradients + o * run_pitch;
        if (dbias != nullptr) dbias[o] += Sum(dy, oh * ow);
        for (std::int64_t row = 0; row < oh; ++row, dy += ow) {
          std::memcpy(to + row * pitch_, dy, Size(ow) * sizeof(float));
        }
      }
    }
    CorrelateRuns({.input = input_planes_.data(),
                   .input_floats = input_size_,
                   .gradients = run_gradients_.data(),
                   .gradient_pitch = run_pitch,
                   .gradient_floats = image_gradients,
                   .images = images,
                   .channels = shape_.out_channels,
                   .run = run_,
                   .offsets = offsets_,
                   .sums = dweight,
                   .vectors = vectors_});
  }
}

void Convolution::BackwardInput(std::int64_t n, const float* weight, const float* dy, float* dx) {
  const std::int64_t s = shape_.stride;
  const std::int64_t oh = shape_.out_height();
  const std::int64_t ow = shape_.out_width();
  std::fill(packed_bias_.begin(), packed_bias_.end(), 0.0F);
  // A class that no tap reaches (a stride above the kernel) has a gradient of 0.
  for (const Phase& phase : phases_) {
    PackTurnedWeights(phase, weight);
    const std::int64_t run = (phase.rows - 1) * gradient_pitch_ + phase.cols;
    const std::int64_t out_pitch = RoundUp(run, kVectorFloats);
    const float* image_dy = dy;
    float* image_dx = dx;
    for (std::int64_t image = 0; image < n; ++image, image_dx += shape_.in_floats()) {
      for (std::int64_t o = 0; o < shape_.out_channels; ++o) {
        float* to = gradient_planes_.data() + o * gradient_plane_ + gradient_border_ * (gradient_pitch_ + 1);
        for (std::int64_t row = 0; row < oh; ++row, image_dy += ow, to += gradient_pitch_) {
          std::memcpy(to, image_dy, Size(ow) * sizeof(float));
        }
      }
      ConvolveRun({.input = gradient_planes_.data() + phase.start,
                   .input_floats = gradient_plane_ * shape_.out_channels,
                   .offsets = phase.offsets,
                   .weights = packed_weights_.data(),
                   .bias = packed_bias_.data(),
                   .channels = shape_.in_channels,
                   .run = run,
                   .output = outputs_.data(),
                   .output_pitch = out_pitch,
                   .vectors = vectors_});
      for (std::int64_t c = 0; c < shape_.in_channels; ++c) {
        const float* from = outputs_.data() + c * out_pitch;
        float* to = image_dx + (c * shape_.height + phase.first_row) * shape_.width + phase.first_col;
        for (std::int64_t row = 0; row < phase.rows; ++row, from += gradient_pitch_, to += s * shape_.width) {
          if (s == 1) {
            std::memcpy(to, from, Size(phase.cols) * sizeof(float));
          } else {
            for (std::int64_t col = 0; col < phase.cols; ++col) to[col * s] = from[col];
          }
        }
      }
    }
  }
}

}  // namespace weft
