// Convolution and pool against the sums that define them, in double.
#include "agent/model/convolution.h"

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "agent/model/pool.h"
#include "agent/model/random.h"

namespace weft {

static void PrintTo(const ConvolutionShape& s, std::ostream* out) {
  *out << s.in_channels << "x" << s.height << "x" << s.width << " to " << s.out_channels << ", kernel " << s.kernel
       << ", stride " << s.stride << ", padding " << s.padding;
}

namespace {

std::vector<float> Random(std::int64_t count, std::uint64_t seed) {
  const CounterRandom random(seed, 0);
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(random.UniformSigned(static_cast<std::uint64_t>(i)));
  return values;
}

// Calls visit(y index, w index, x index) for each product of the convolution.
void ForEachProduct(const ConvolutionShape& s, std::int64_t n,
                    const std::function<void(std::size_t, std::size_t, std::size_t)>& visit) {
  const std::int64_t oh = s.out_height();
  const std::int64_t ow = s.out_width();
  for (std::int64_t y_index = 0; y_index < n * s.out_floats(); ++y_index) {
    const std::int64_t j = y_index % ow;
    const std::int64_t i = y_index / ow % oh;
    const std::int64_t o = y_index / (ow * oh) % s.out_channels;
    const std::int64_t image = y_index / s.out_floats();
    for (std::int64_t tap = 0; tap < s.taps(); ++tap) {
      const std::int64_t kx = tap % s.kernel;
      const std::int64_t ky = tap / s.kernel % s.kernel;
      const std::int64_t c = tap / (s.kernel * s.kernel);
      const std::int64_t row = i * s.stride + ky - s.padding;
      const std::int64_t col = j * s.stride + kx - s.padding;
      if (row < 0 || row >= s.height || col < 0 || col >= s.width) continue;
      const std::int64_t x_index = ((image * s.in_channels + c) * s.height + row) * s.width + col;
      visit(static_cast<std::size_t>(y_index), static_cast<std::size_t>(o * s.taps() + tap),
            static_cast<std::size_t>(x_index));
    }
  }
}

void ExpectNear(const std::vector<float>& actual, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], tolerance) << "at " << i;
}

class ConvolutionOf : public ::testing::TestWithParam<ConvolutionShape> {
 protected:
  void ExpectTheDefinition(Vectors vectors);
};

void ConvolutionOf::ExpectTheDefinition(Vectors vectors) {
  const ConvolutionShape& s = GetParam();
  Convolution convolution(s, vectors);
  for (const std::int64_t n : {1, 5}) {  // twice, so that the first call's leftovers show
    const std::vector<float> x = Random(n * s.in_floats(), 1);
    const std::vector<float> w = Random(s.out_channels * s.taps(), 2);
    const std::vector<float> bias = Random(s.out_channels, 3);
    const std::vector<float> dy = Random(n * s.out_floats(), 4);
    std::vector<double> y_expected(dy.size());
    std::vector<double> dw_expected(w.size());
    std::vector<double> dx_expected(x.size());
    std::vector<double> dbias_expected(bias.size());
    const std::int64_t area = s.out_height() * s.out_width();
    for (std::size_t i = 0; i < dy.size(); ++i) {
      const auto o = static_cast<std::size_t>(static_cast<std::int64_t>(i) / area % s.out_channels);
      y_expected[i] = bias[o];
      dbias_expected[o] += dy[i];
    }
    ForEachProduct(s, n, [&](std::size_t yi, std::size_t wi, std::size_t xi) {
      y_expected[yi] += static_cast<double>(w[wi]) * x[xi];
      dw_expected[wi] += static_cast<double>(dy[yi]) * x[xi];
      dx_expected[xi] += static_cast<double>(dy[yi]) * w[wi];
    });
    std::vector<float> y(dy.size(), -9.0F);
    std::vector<float> dw(w.size(), -9.0F);
    std::vector<float> dx(x.size(), -9.0F);
    std::vector<float> dbias(bias.size(), -9.0F);
    convolution.Forward(n, w.data(), bias.data(), x.data(), y.data());
    convolution.BackwardWeight(n, x.data(), dy.data(), dw.data(), dbias.data());
    convolution.BackwardInput(n, w.data(), dy.data(), dx.data());
    ExpectNear(y, y_expected, 1e-4);
    ExpectNear(dw, dw_expected, 2e-4);
    ExpectNear(dx, dx_expected, 1e-4);
    ExpectNear(dbias, dbias_expected, 1e-4);
  }
}

TEST_P(ConvolutionOf, AllThreeProducts_OnTheWidestVectors_FollowTheDefinition) {
  ExpectTheDefinition(Vectors::kWidest);
}

TEST_P(ConvolutionOf, AllThreeProducts_OnAvx2_FollowTheDefinition) { ExpectTheDefinition(Vectors::kAvx2); }

// in_channels, out_channels, height, width, kernel, stride, padding
INSTANTIATE_TEST_SUITE_P(Shapes, ConvolutionOf,
                         ::testing::Values(ConvolutionShape{1, 6, 28, 28, 5, 1, 2},   // LeNet's
                                           ConvolutionShape{6, 16, 14, 14, 5, 1, 0},  //
                                           ConvolutionShape{3, 16, 9, 8, 3, 1, 1},    // ResNet's
                                           ConvolutionShape{8, 8, 8, 8, 3, 2, 1},     //
                                           ConvolutionShape{4, 5, 7, 9, 3, 2, 1},     // odd sides, odd channels
                                           ConvolutionShape{2, 3, 11, 10, 5, 3, 2},   //
                                           ConvolutionShape{5, 7, 6, 4, 1, 1, 0},     //
                                           ConvolutionShape{3, 4, 7, 7, 1, 2, 0},     // a stride above the kernel
                                           ConvolutionShape{2, 6, 5, 40, 3, 1, 1},    // wide and long
                                           ConvolutionShape{1, 1, 3, 3, 3, 1, 0},     // one output
                                           ConvolutionShape{1, 1, 1, 1, 3, 1, 1}));   // more padding than image

TEST(ReluMaxPool, ForwardAndBackward_WithOddSides_FollowTheLargest) {
  // clang-format off
  const std::vector<float> x = {1, 2, 9,
                                2, -1, 9,
                                9, 9, 9,
                                -1, -2, 9,
                                -3, 0, 9,
                                9, 9, 9};
  // clang-format on
  std::vector<float> y(2);
  std::vector<std::uint8_t> choice(2);
  ReluMaxPoolForward(2, 3, 3, x.data(), y.data(), choice.data());
  EXPECT_EQ(y, (std::vector<float>{2, 0}));
  EXPECT_EQ(choice, (std::vector<std::uint8_t>{1, 4}));
  const std::vector<float> dy = {5, 7};
  std::vector<float> dx(18, -9.0F);
  ReluMaxPoolBackward(2, 3, 3, dy.data(), choice.data(), dx.data());
  std::vector<float> expected(18, 0.0F);
  expected[1] = 5;
  EXPECT_EQ(dx, expected);
}

}  // namespace
}  // namespace weft
