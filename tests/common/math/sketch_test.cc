#include "common/math/sketch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace weft {
namespace {

using Models = std::vector<std::vector<float>>;

std::vector<double> Sketch(const std::vector<float>& x, std::uint64_t seed) {
  std::vector<double> buckets(kSketchBuckets, 1e9);  // to be overwritten
  SketchOf(x, seed, buckets);
  return buckets;
}

double Estimate(const Models& models, std::uint64_t seed) {
  std::vector<std::vector<double>> sketches;
  for (const std::vector<float>& model : models) sketches.push_back(Sketch(model, seed));
  return VarianceFromSketches(sketches).value();
}

TEST(SketchTest, SketchOf_OneCoordinate_FallsIntoOneBucketWithItsSize) {
  for (const std::size_t place : {0, 1, 4095, 4096, 9999}) {
    std::vector<float> x(10'000, 0);
    x[place] = -2.5F;
    int used = 0;
    for (const double bucket : Sketch(x, 5)) {
      if (bucket == 0) continue;
      ++used;
      EXPECT_EQ(std::abs(bucket), 2.5);
    }
    EXPECT_EQ(used, 1);
  }
}

TEST(SketchTest, SketchOf_Empty_IsZero) {
  for (const double bucket : Sketch({}, 5)) EXPECT_EQ(bucket, 0);
}

TEST(SketchTest, SketchOf_Sum_IsTheSumOfSketches) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> x(12'345), y(x.size()), sum(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = normal(random);
    y[i] = std::ldexp(std::round(x[i] * 64), -6);  // so that the float sum is nearly exact
    sum[i] = x[i] + y[i];
  }
  const auto of_x = Sketch(x, 9), of_y = Sketch(y, 9), of_sum = Sketch(sum, 9);
  for (std::size_t b = 0; b < of_x.size(); ++b) EXPECT_NEAR(of_sum[b], of_x[b] + of_y[b], 1e-5);
}

TEST(SketchTest, SketchOf_OtherSeed_IsAnotherProjection) {
  std::vector<float> x(5000, 0);
  x[17] = 1;
  EXPECT_EQ(Sketch(x, 1), Sketch(x, 1));
  EXPECT_NE(Sketch(x, 1), Sketch(x, 2));
}

struct Shape {
  const char* name;
  std::function<Models(std::mt19937&)> make;
};

constexpr std::size_t kSize = 20'000;
constexpr int kNodes = 4;

Models Filled(const std::function<float(int node, std::size_t i)>& value) {
  Models models(kNodes, std::vector<float>(kSize));
  for (int node = 0; node < kNodes; ++node) {
    for (std::size_t i = 0; i < kSize; ++i) models[static_cast<std::size_t>(node)][i] = value(node, i);
  }
  return models;
}

// Inputs that would show a weak hash: differences on few coordinates, on one place of every block, on two whole blocks,
// in one constant, in waves.
std::vector<Shape> Shapes() {
  return {
      {"Gaussian",
       [](std::mt19937& random) {
         std::normal_distribution<float> normal;
         return Filled([&](int, std::size_t) { return normal(random); });
       }},
      {"FarFromZero",
       [](std::mt19937& random) {
         std::normal_distribution<float> normal(0, 0.01F);
         return Filled([&](int, std::size_t i) { return std::sin(static_cast<float>(i)) + normal(random); });
       }},
      {"TwoCoordinates",
       [](std::mt19937&) {
         return Filled([](int node, std::size_t i) { return node == 0 && (i == 5 || i == 15'000) ? 1.0F : 0.0F; });
       }},
      {"SamePlaceOfEveryBlock",
       [](std::mt19937&) {
         return Filled([](int node, std::size_t i) { return node == 1 && i % 4096 == 77 ? 1.0F : 0.0F; });
       }},
      {"TwoBlocks",
       [](std::mt19937&) {
         return Filled([](int node, std::size_t i) { return i < 8192 ? static_cast<float>(node) : 0.0F; });
       }},
      {"Constant",
       [](std::mt19937&) { return Filled([](int node, std::size_t) { return static_cast<float>(node % 2); }); }},
      {"Alternating",
       [](std::mt19937&) {
         return Filled([](int node, std::size_t i) { return (i % 2 == 0 ? 1.0F : -1.0F) * static_cast<float>(node); });
       }},
      {"Steep",
       [](std::mt19937& random) {
         std::normal_distribution<float> normal;
         return Filled([&](int, std::size_t i) { return normal(random) / static_cast<float>(1 + i); });
       }},
  };
}

class SketchErrorTest : public testing::TestWithParam<Shape> {};

// Over independent seeds: the mean of the estimates is the exact value to four standard errors (unbiased), and the RMS
// error is within the stated bound, with room for its own standard error (a heavy tail's: 25 %).
TEST_P(SketchErrorTest, VarianceFromSketches_ManySeeds_HoldsTheBound) {
  std::mt19937 random(11);
  const Models models = GetParam().make(random);
  const double exact = ModelVariance(models);
  ASSERT_GT(exact, 0);
  constexpr int kSeeds = 200;
  double sum = 0, squares = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const double error = Estimate(models, static_cast<std::uint64_t>(seed)) / exact - 1;
    sum += error;
    squares += error * error;
  }
  const double rms = std::sqrt(squares / kSeeds);
  EXPECT_LE(rms, 1.25 * SketchRelativeError());
  EXPECT_LE(std::abs(sum / kSeeds), 4 * SketchRelativeError() / std::sqrt(kSeeds));
}

INSTANTIATE_TEST_SUITE_P(Shapes, SketchErrorTest, testing::ValuesIn(Shapes()),
                         [](const auto& shape) { return std::string(shape.param.name); });

// Two coordinates of different blocks share a bucket with probability 1/4096, whatever their places.
TEST(SketchTest, SketchOf_TwoCoordinates_CollideAsSeldomAsTheBoundNeeds) {
  constexpr int kSeeds = 2048;
  for (const auto& [a, b] : {std::pair<std::size_t, std::size_t>{0, 4096}, {4095, 4097}, {100, 8000}}) {
    int collisions = 0;
    std::vector<float> x(8192, 0);
    x[a] = 1;
    x[b] = 2;
    for (int seed = 0; seed < kSeeds; ++seed) {
      int used = 0;
      for (const double bucket : Sketch(x, static_cast<std::uint64_t>(seed))) used += bucket != 0 ? 1 : 0;
      collisions += used == 1 ? 1 : 0;
    }
    EXPECT_LE(collisions, 5);  // half a one expected
  }
}

TEST(SketchTest, SketchRelativeError_Buckets4096_IsTheDesigns) { EXPECT_NEAR(SketchRelativeError(), 0.022, 1e-3); }

TEST(VarianceFromSketchesTest, EqualModels_IsZero) {
  const std::vector<float> model(1000, 3.25F);
  EXPECT_EQ(Estimate({model, model, model, model}, 1), 0);
}

TEST(VarianceFromSketchesTest, NothingOrMixedSizes_IsRefused) {
  EXPECT_EQ(VarianceFromSketches({}).status().code(), StatusCode::kInvalidArgument);
  const std::vector<std::vector<double>> mixed = {std::vector<double>(8), std::vector<double>(9)};
  EXPECT_EQ(VarianceFromSketches(mixed).status().message(), "the sketch of node 1 has 9 buckets, that of node 0 8");
}

TEST(ModelVarianceTest, SmallModels_IsTheSumOfSquaredDistances) {
  EXPECT_EQ(ModelVariance(Models{{1, 0}, {3, 4}}), 1 + 1 + 4 + 4);
  EXPECT_EQ(ModelVariance(Models{{5}}), 0);
  EXPECT_EQ(ModelVariance({}), 0);
}

}  // namespace
}  // namespace weft
