#include "agent/core/quantizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/agent/core/quantizer_testing.h"

namespace weft {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;

constexpr std::size_t kSizes[] = {0, 1, 2, 63, 65, 127, 1000, 4095, 4096, 4097, 9001};

// x with every coordinate moved by at most `distance`, every second one by all of it.
std::vector<float> Near(const std::vector<float>& x, float distance, std::uint_fast32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-distance, distance);
  std::vector<float> y = x;
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] += i % 2 == 0 ? uniform(random) : (random() % 2 == 0 ? distance : -distance);
    // The addition rounds: stay within.
    while (std::abs(static_cast<double>(y[i]) - x[i]) > distance) y[i] = std::nextafter(y[i], x[i]);
  }
  return y;
}

class QuantizerTest : public testing::TestWithParam<QuantizerCase> {
 protected:
  bool coded() const { return options_.bits != 0; }
  double steps() const { return std::ldexp(1.0, options_.bits) - 1; }

  QuantizerOptions options_{.bits = GetParam().bits, .rotation = GetParam().rotation, .seed = 7};
};
INSTANTIATE_TEST_SUITE_P(All, QuantizerTest, testing::ValuesIn(AllCases()), CaseName);

TEST_P(QuantizerTest, Delta_OfAnySize_IsWhatTheEncoderSaidAndNearX) {
  for (const std::size_t count : kSizes) {
    for (const float scale : {1e-6F, 0.3F, 1e6F}) {
      SCOPED_TRACE(testing::Message() << count << " floats of " << scale);
      Quantizer writer(options_, count), reader(options_, count);
      const auto x = RandomFloats(count, scale, 1);
      Bytes message(writer.delta_bytes());
      std::vector<float> decoded(count), sum(count, 0.0F);
      ASSERT_TRUE(writer.EncodeDelta(x, {.writer = 3, .version = 9}, message, decoded).ok());
      ASSERT_TRUE(reader.AddDelta(message, sum).ok());
      EXPECT_EQ(sum, decoded);
      if (!coded()) {
        EXPECT_EQ(decoded, x);
      } else if (!options_.rotation) {
        // Half a step, and what float32 holds.
        EXPECT_LE(LargestDifference(decoded, x), LargestOf(x) * (1.0001 / steps() + 0x1p-22));
      }
    }
  }
}

TEST_P(QuantizerTest, Delta_OfZeros_AddsNothing) {
  constexpr std::size_t kCount = 4500;
  Quantizer quantizer(options_, kCount);
  Bytes message(quantizer.delta_bytes());
  std::vector<float> decoded(kCount, 1.0F), sum = RandomFloats(kCount, 1, 1);
  const auto before = sum;
  ASSERT_TRUE(quantizer.EncodeDelta(std::vector<float>(kCount), {}, message, decoded).ok());
  ASSERT_TRUE(quantizer.AddDelta(message, sum).ok());
  EXPECT_THAT(decoded, Each(0.0F));
  EXPECT_EQ(sum, before);
}

TEST_P(QuantizerTest, Delta_InPlace_DecodesTheSame) {
  constexpr std::size_t kCount = 9001;
  Quantizer quantizer(options_, kCount);
  auto x = RandomFloats(kCount, 1, 1);
  Bytes message(quantizer.delta_bytes()), again(quantizer.delta_bytes());
  std::vector<float> decoded(kCount);
  ASSERT_TRUE(quantizer.EncodeDelta(x, {}, message, decoded).ok());
  ASSERT_TRUE(quantizer.EncodeDelta(x, {}, again, x).ok());
  EXPECT_EQ(x, decoded);
  EXPECT_EQ(message, again);
}

// The largest coordinate is at the edge of the code, where its ends meet, in every dither.
TEST_P(QuantizerTest, Delta_AllAtTheEdge_KeepsTheSigns) {
  if (!coded() || options_.rotation) return;
  constexpr std::size_t kCount = 4096;
  Quantizer quantizer(options_, kCount);
  Bytes message(quantizer.delta_bytes());
  std::vector<float> x(kCount), decoded(kCount);
  for (std::size_t i = 0; i < kCount; ++i) x[i] = i % 2 == 0 ? 3.7F : -3.7F;
  for (std::uint64_t version = 0; version < 40; ++version) {
    ASSERT_TRUE(quantizer.EncodeDelta(x, {.version = version}, message, decoded).ok());
    ASSERT_LE(LargestDifference(decoded, x), 3.7 * (1.0001 / steps() + 0x1p-22));
  }
}

TEST_P(QuantizerTest, Register_KeyAtTheEdge_DecodesRightlyAtAnyScale) {
  for (const std::size_t count : {0U, 1U, 65U, 5000U}) {
    for (const float scale : {1e-6F, 1.0F, 1e6F}) {
      for (const float relative : {0.0F, 1e-6F, 1e-5F, 0.01F, 10.0F, 1e4F}) {
        SCOPED_TRACE(testing::Message() << count << " floats of " << scale << ", distance " << relative);
        Quantizer writer(options_, count), reader(options_, count);
        const auto x = RandomFloats(count, scale, 1);
        const float distance = relative * scale;
        const auto y = Near(x, distance, 2);
        // In rotated coordinates the largest distance can be the root of their number times as much.
        const float y_max = options_.rotation ? distance * 64 : distance;
        Bytes message(writer.register_bytes());
        ASSERT_TRUE(
            writer.EncodeRegister(x, {.writer = 1, .version = 5}, std::vector(writer.blocks(), y_max), message).ok());
        const Bytes prefix = Cut(message, 0, reader.register_prefix_bytes());
        std::vector<float> decoded(count), distances(reader.blocks());
        std::vector<std::size_t> failed;
        ASSERT_TRUE(reader.DecodeRegister(prefix, y, decoded, &failed, distances).ok());
        EXPECT_THAT(failed, IsEmpty());
        const double rounding = LargestOf(x) * 0x1p-19 + y_max * 0x1p-22;
        if (coded() && !options_.rotation) {
          EXPECT_LE(LargestDifference(decoded, x), y_max * 1.001 / steps() + rounding);
          EXPECT_THAT(distances, Each(Le(y_max * (1 + 1.001 / steps()) + rounding)));
        } else if (!coded()) {
          EXPECT_EQ(decoded, x);
        }
      }
    }
  }
}

// Models and how far they are apart, with spikes and without: what is wrongly decoded is found.
TEST_P(QuantizerTest, Register_RandomKeys_AreDecodedRightlyOrNamed) {
  std::mt19937 random(3);
  std::size_t named = 0, right = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t count = 1 + random() % 9000;
    Quantizer writer(options_, count), reader(options_, count);
    const auto x = RandomFloats(count, std::pow(10.0F, static_cast<float>(random() % 13) - 6), random());
    const float y_max = LargestOf(x) * std::pow(2.0F, -static_cast<float>(random() % 16));
    const auto y = Near(x, y_max * std::pow(2.0F, static_cast<float>(random() % 5) - 2), random());
    Bytes message(writer.register_bytes());
    ASSERT_TRUE(writer.EncodeRegister(x, {.version = random()}, std::vector(writer.blocks(), y_max), message).ok());
    std::vector<float> decoded(count);
    std::vector<std::size_t> failed;
    ASSERT_TRUE(reader.DecodeRegister(Cut(message, 0, reader.register_prefix_bytes()), y, decoded, &failed).ok());
    named += failed.size();
    right += reader.blocks() - failed.size();
    for (const std::size_t block : failed) {
      for (std::size_t i = block * 4096; i < std::min(count, (block + 1) * 4096); ++i) decoded[i] = x[i];
    }
    // With rotation the error of one coordinate is a sum of many, each within half a step.
    const double bound = y_max / steps() * (options_.rotation ? 6 : 1.001) + LargestOf(x) * 0x1p-17;
    ASSERT_LE(LargestDifference(decoded, x), coded() ? bound : 0) << trial;
  }
  EXPECT_GT(right, 20U);
  if (coded()) {
    EXPECT_GT(named, 20U);
  }
}

TEST_P(QuantizerTest, Register_KeyTooFar_NamesTheBlockAndFurtherLevelsDecodeIt) {
  constexpr std::size_t kCount = 9001;
  for (const float far : {0.5F, 40.0F, 1e30F, std::numeric_limits<float>::quiet_NaN()}) {
    SCOPED_TRACE(far);
    Quantizer writer(options_, kCount), reader(options_, kCount);
    const auto x = RandomFloats(kCount, 1.0F, 1);
    auto y = x;
    for (std::size_t i = 4096; i < 8192; ++i) y[i] += i % 3 == 0 ? far : 0.0F;
    Bytes message(writer.register_bytes());
    ASSERT_TRUE(writer.EncodeRegister(x, {}, std::vector(3, 0.01F), message).ok());
    const Bytes prefix = Cut(message, 0, reader.register_prefix_bytes());
    std::vector<float> decoded(kCount);
    std::vector<std::size_t> failed;
    ASSERT_TRUE(reader.DecodeRegister(prefix, y, decoded, &failed).ok());
    if (!coded()) {
      EXPECT_THAT(failed, IsEmpty());
      EXPECT_EQ(decoded, x);
      EXPECT_EQ(reader.levels(), 1);
      continue;
    }
    EXPECT_THAT(failed, ElementsAre(1U));
    std::vector<Bytes> digits(1);
    bool found = false;
    for (int level = 1; level < reader.levels() && !found; ++level) {
      const ByteRange range = reader.LevelRange(1, level);
      ASSERT_LE(range.offset + range.size, message.size());
      digits.push_back(Cut(message, range.offset, range.size));
      float distance = 0;
      const auto result = reader.DecodeBlock(prefix, 1, level, digits, y, decoded, &distance);
      ASSERT_TRUE(result.ok()) << result.status();
      found = *result;
      if (found && std::isfinite(far)) {
        EXPECT_GT(distance, far * (options_.rotation ? 0.5F : 0.7F));
      }
    }
    EXPECT_TRUE(found);
    EXPECT_LE(LargestDifference(decoded, x), 0.011 * (options_.rotation ? 3 : 1));
  }
}

TEST_P(QuantizerTest, Register_FirstMatchingLevel_IsTheOneThatTheDistanceAsksFor) {
  if (!coded() || options_.rotation) return;
  Quantizer quantizer(options_, 100);
  const auto x = RandomFloats(100, 1.0F, 1);
  Bytes message(quantizer.register_bytes());
  // s is 2^-20 max|x|: level l decodes up to s (2^(bits of level l) - 1) / 2.
  ASSERT_TRUE(quantizer.EncodeRegister(x, {}, std::vector(1, 0.0F), message).ok());
  const Bytes prefix = Cut(message, 0, quantizer.register_prefix_bytes());
  const double step = LargestOf(x) * 0x1p-20 * std::max(1.0, 2.0 / steps());
  std::vector<Bytes> digits(1);
  for (int level = 1; level + 1 < quantizer.levels(); ++level) {
    const ByteRange range = quantizer.LevelRange(0, level);
    digits.push_back(Cut(message, range.offset, range.size));
    const int bits = options_.bits << level;
    for (const double relative : {0.4, 0.6}) {
      auto y = x;
      y[50] += static_cast<float>(step * std::ldexp(relative, bits));
      std::vector<float> decoded(100);
      const auto result = quantizer.DecodeBlock(prefix, 0, level, digits, y, decoded);
      ASSERT_TRUE(result.ok());
      EXPECT_EQ(*result, relative < 0.5) << "level " << level;
    }
  }
}

TEST_P(QuantizerTest, Encode_NotANumberAnywhere_RefusesAndNamesIt) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::size_t count : {1U, 70U, 4096U, 5001U}) {
    Quantizer quantizer(options_, count);
    Bytes message(std::max(quantizer.register_bytes(), quantizer.delta_bytes()));
    std::vector<float> decoded(count);
    for (const std::size_t at : {std::size_t{0}, count / 2, std::size_t{count} - 1}) {
      for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity, 0x1p100F}) {
        std::vector<float> x(count, 0.5F);
        x[at] = bad;
        const Status delta = quantizer.EncodeDelta(x, {}, message, decoded);
        EXPECT_EQ(delta.code(), StatusCode::kInvalidArgument);
        EXPECT_THAT(delta.message(), HasSubstr("float " + std::to_string(at) + " is"));
        EXPECT_EQ(quantizer.EncodeRegister(x, {}, std::vector(quantizer.blocks(), 1.0F), message), delta);
      }
    }
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -1.0F}) {
      if (!coded()) continue;
      std::vector<float> limits(quantizer.blocks(), 1.0F);
      limits.back() = bad;
      const Status status = quantizer.EncodeRegister(std::vector(count, 0.5F), {}, limits, message);
      EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
      EXPECT_THAT(status.message(), HasSubstr("y_max of block " + std::to_string(limits.size() - 1)));
    }
  }
}

TEST_P(QuantizerTest, Vectors_OfEveryWidth_GiveTheSameBits) {
  if (!HasWideVectors()) GTEST_SKIP() << "this processor has one width";
  for (const std::size_t count : {1U, 100U, 300U, 3000U, 4096U, 9001U}) {
    SCOPED_TRACE(count);
    Quantizer wide(options_, count), eight(options_, count, LatticeVectors::kEight);
    const auto x = RandomFloats(count, 1.0F, 1);
    const auto y = Near(x, 0.01F, 2);
    Bytes a(wide.delta_bytes()), b(wide.delta_bytes());
    std::vector<float> decoded_a(count), decoded_b(count), sum_a = y, sum_b = y;
    ASSERT_TRUE(wide.EncodeDelta(x, {.version = 1}, a, decoded_a).ok());
    ASSERT_TRUE(eight.EncodeDelta(x, {.version = 1}, b, decoded_b).ok());
    EXPECT_EQ(a, b);
    EXPECT_EQ(decoded_a, decoded_b);
    ASSERT_TRUE(wide.AddDelta(a, sum_a).ok());
    ASSERT_TRUE(eight.AddDelta(a, sum_b).ok());
    EXPECT_EQ(sum_a, sum_b);
    a.resize(wide.register_bytes());
    b.resize(wide.register_bytes());
    const std::vector limits(wide.blocks(), 0.02F);
    ASSERT_TRUE(wide.EncodeRegister(x, {.version = 1}, limits, a).ok());
    ASSERT_TRUE(eight.EncodeRegister(x, {.version = 1}, limits, b).ok());
    EXPECT_EQ(a, b);
    std::vector<std::size_t> failed_a, failed_b;
    std::vector<float> distances_a(wide.blocks()), distances_b(wide.blocks());
    ASSERT_TRUE(wide.DecodeRegister(a, y, decoded_a, &failed_a, distances_a).ok());
    ASSERT_TRUE(eight.DecodeRegister(a, y, decoded_b, &failed_b, distances_b).ok());
    EXPECT_EQ(decoded_a, decoded_b);
    EXPECT_EQ(failed_a, failed_b);
    EXPECT_EQ(distances_a, distances_b);
  }
}

TEST(QuantizerRotationTest, VectorLargerThanCaches_DecodesAsItsReaderDoes) {
  const std::size_t count = (4U << 20U) + 5000;
  Quantizer quantizer({.bits = 8, .rotation = true}, count);
  std::vector<float> x(count), decoded(count), sum(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(i * 7919 % 10007) - 5000;
  Bytes message(quantizer.delta_bytes());
  ASSERT_TRUE(quantizer.EncodeDelta(x, {}, message, decoded).ok());
  ASSERT_TRUE(quantizer.AddDelta(message, sum).ok());
  EXPECT_TRUE(sum == decoded);
  EXPECT_LT(LargestDifference(decoded, x), 1000);
}

TEST(QuantizerRotationTest, CopyPastCaches_FromAndToAnywhere_Copies) {
  const auto x = RandomFloats(100, 1.0F, 1);
  for (std::size_t from = 0; from < 5; ++from) {
    for (std::size_t to = 0; to < 5; ++to) {
      for (const std::size_t count : {0U, 1U, 4U, 63U, 90U}) {
        std::vector<float> y(100, 9.0F);
        CopyPastCaches(x.data() + from, count, y.data() + to);
        for (std::size_t i = 0; i < 100; ++i) {
          EXPECT_EQ(y[i], i >= to && i < to + count ? x[from + i - to] : 9.0F);
        }
      }
    }
  }
}

// What rotation is for: one spike among small numbers does not set the step of all.
TEST(QuantizerRotationTest, Delta_WithASpike_HasASmallerErrorThanWithoutRotation) {
  auto x = RandomFloats(4096, 0.01F, 1);
  x[17] = 10;
  double square[2] = {};
  for (const bool rotation : {false, true}) {
    Quantizer quantizer({.bits = 8, .rotation = rotation}, x.size());
    Bytes message(quantizer.delta_bytes());
    std::vector<float> decoded(x.size());
    ASSERT_TRUE(quantizer.EncodeDelta(x, {}, message, decoded).ok());
    for (std::size_t i = 0; i < x.size(); ++i) square[rotation] += std::pow(decoded[i] - x[i], 2);
  }
  // 10 to about 10 / 64 + 0.04: the step's square falls by some 2500.
  EXPECT_LT(square[1], square[0] / 1000);
}

}  // namespace
}  // namespace weft
