#include "agent/core/quantizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Bytes = std::vector<std::byte>;

constexpr std::size_t kSizes[] = {0, 1, 2, 63, 64, 65, 127, 1000, 4095, 4096, 4097, 8192, 9001};

std::vector<float> RandomFloats(std::size_t count, float scale, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

// x with every coordinate moved by at most `distance`, every second one by all of it.
std::vector<float> Near(const std::vector<float>& x, float distance, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-distance, distance);
  std::vector<float> y = x;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const float move = i % 2 == 0 ? uniform(random) : (random() % 2 == 0 ? distance : -distance);
    y[i] += move;
    // The addition rounds: stay within.
    while (std::abs(static_cast<double>(y[i]) - x[i]) > distance) y[i] = std::nextafter(y[i], x[i]);
  }
  return y;
}

float LargestOf(const std::vector<float>& x) {
  float largest = 0;
  for (const float v : x) largest = std::max(largest, std::abs(v));
  return largest;
}

struct Case {
  int bits;
  bool rotation;
};
std::string CaseName(const testing::TestParamInfo<Case>& info) {
  return std::to_string(info.param.bits) + (info.param.rotation ? "BitsRotated" : "Bits");
}
std::vector<Case> AllCases() {
  std::vector<Case> cases = {{0, false}};
  for (int bits = 2; bits <= 16; ++bits) cases.insert(cases.end(), {{bits, false}, {bits, true}});
  return cases;
}

class QuantizerTest : public testing::TestWithParam<Case> {
 protected:
  QuantizerOptions options_{.bits = GetParam().bits, .rotation = GetParam().rotation, .seed = 7};
  bool coded() const { return options_.bits != 0; }
  double steps() const { return std::ldexp(1.0, options_.bits) - 1; }
};
INSTANTIATE_TEST_SUITE_P(All, QuantizerTest, testing::ValuesIn(AllCases()), CaseName);

TEST_P(QuantizerTest, Delta_OfAnySize_IsWhatTheEncoderSaidAndNearX) {
  for (const std::size_t count : kSizes) {
    SCOPED_TRACE(count);
    Quantizer writer(options_, count), reader(options_, count);
    const auto x = RandomFloats(count, 0.3F, 1);
    Bytes message(writer.delta_bytes());
    std::vector<float> decoded(count), sum(count, 0.0F);
    ASSERT_TRUE(writer.EncodeDelta(x, {.writer = 3, .version = 9}, message, decoded).ok());
    ASSERT_TRUE(reader.AddDelta(message, sum).ok());
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(sum[i], 0 + decoded[i]) << i;
    if (!coded()) {
      EXPECT_EQ(decoded, x);
      continue;
    }
    // Half a step a coordinate; with rotation that holds for the norm of each block.
    const double step = 2 * LargestOf(x) / steps();
    for (std::size_t i = 0; i < count && !options_.rotation; ++i) {
      ASSERT_LE(std::abs(decoded[i] - x[i]), step * 0.5001 + LargestOf(x) * 0x1p-21) << i;
    }
  }
}

TEST_P(QuantizerTest, Register_KeyAtTheEdge_DecodesRightlyAtAnyScale) {
  for (const std::size_t count : {0U, 1U, 65U, 5000U}) {
    for (const float scale : {1e-6F, 1.0F, 1e6F}) {
      for (const float relative : {1e-5F, 0.01F, 10.0F}) {
        SCOPED_TRACE(testing::Message() << count << " floats of " << scale << ", distance " << relative);
        Quantizer writer(options_, count), reader(options_, count);
        const auto x = RandomFloats(count, scale, 1);
        const float distance = relative * scale;
        const auto y = Near(x, distance, 2);
        // In rotated coordinates the largest distance can be the root of their number times as much.
        const float y_max = options_.rotation ? distance * 64 : distance;
        Bytes message(writer.register_bytes());
        const std::vector<float> limits(writer.blocks(), y_max);
        ASSERT_TRUE(writer.EncodeRegister(x, {.writer = 1, .version = 5}, limits, message).ok());
        message.resize(reader.register_prefix_bytes());
        message.shrink_to_fit();
        std::vector<float> decoded(count), distances(reader.blocks());
        std::vector<std::size_t> failed;
        ASSERT_TRUE(reader.DecodeRegister(message, y, decoded, &failed, distances).ok());
        EXPECT_THAT(failed, IsEmpty());
        const double step =
            coded() ? 2 * (y_max * 1.0001 + (options_.rotation ? 64 * 4 : 1) * LargestOf(x) * 0x1p-18) / steps() : 0;
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_LE(std::abs(decoded[i] - x[i]), (options_.rotation ? 64 : 0.51) * step + LargestOf(x) * 0x1p-19) << i;
        }
      }
    }
  }
}

TEST_P(QuantizerTest, Register_KeyTooFar_NamesTheBlockAndFurtherLevelsDecodeIt) {
  constexpr std::size_t kCount = 9001;
  Quantizer writer(options_, kCount), reader(options_, kCount);
  const auto x = RandomFloats(kCount, 1.0F, 1);
  auto y = x;
  for (std::size_t i = 4096; i < 8192; ++i) y[i] += i % 3 == 0 ? 40.0F : 0.0F;
  Bytes message(writer.register_bytes());
  ASSERT_TRUE(writer.EncodeRegister(x, {}, std::vector<float>(3, 0.01F), message).ok());
  const Bytes prefix(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(reader.register_prefix_bytes()));
  std::vector<float> decoded(kCount);
  std::vector<std::size_t> failed;
  ASSERT_TRUE(reader.DecodeRegister(prefix, y, decoded, &failed).ok());
  if (!coded()) {
    EXPECT_THAT(failed, IsEmpty());
    EXPECT_EQ(decoded, x);
    EXPECT_EQ(reader.levels(), 1);
    return;
  }
  EXPECT_THAT(failed, ElementsAre(1U));
  std::vector<Bytes> digits(1);
  bool found = false;
  for (int level = 1; level < reader.levels() && !found; ++level) {
    const ByteRange range = reader.LevelRange(1, level);
    ASSERT_LE(range.offset + range.size, message.size());
    const auto begin = message.begin() + static_cast<std::ptrdiff_t>(range.offset);
    digits.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(range.size));
    float distance = 0;
    const auto result = reader.DecodeBlock(prefix, 1, level, digits, y, decoded, &distance);
    ASSERT_TRUE(result.ok()) << result.status();
    found = *result;
    if (found) {
      EXPECT_GT(distance, 30);
    }
    if (level == reader.levels() - 1) {
      EXPECT_TRUE(found);
    }
  }
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_NEAR(decoded[i], x[i], 0.02) << i;
}

TEST_P(QuantizerTest, EncodeDelta_NotANumberAnywhere_RefusesAndNamesIt) {
  for (const std::size_t count : {1U, 70U, 4096U, 5001U}) {
    for (const std::size_t at : {std::size_t{0}, count / 2, std::size_t{count} - 1}) {
      for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(), 0x1p100F}) {
        Quantizer quantizer(options_, count);
        std::vector<float> x = RandomFloats(count, 1.0F, 1), decoded(count);
        x[at] = bad;
        Bytes message(quantizer.register_bytes() + quantizer.delta_bytes());
        const Status delta = quantizer.EncodeDelta(x, {}, message, decoded);
        EXPECT_EQ(delta.code(), StatusCode::kInvalidArgument);
        EXPECT_THAT(delta.message(), HasSubstr("float " + std::to_string(at) + " is"));
        const Status model = quantizer.EncodeRegister(x, {}, std::vector<float>(quantizer.blocks(), 1.0F), message);
        EXPECT_EQ(model, delta);
      }
    }
  }
}

}  // namespace
}  // namespace weft
