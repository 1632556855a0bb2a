// docs/format/quantizer.md against the code: its examples to the byte, its rules as a second, slow decoder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "agent/core/quantizer.h"
#include "tests/agent/core/quantizer_testing.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// The hexadecimal blocks below the heading "Example".
std::vector<Bytes> Examples() {
  std::ifstream file("docs/format/quantizer.md");
  std::vector<Bytes> examples;
  bool below = false, in_block = false;
  for (std::string line; std::getline(file, line);) {
    below |= line == "## Example";
    const bool hexadecimal = below && line.starts_with("    ");
    if (hexadecimal && !in_block) examples.emplace_back();
    in_block = hexadecimal;
    for (std::size_t at = 4; hexadecimal && at < line.size();) {
      if (line[at] == ' ') {
        ++at;
        continue;
      }
      examples.back().push_back(static_cast<std::byte>(std::stoi(line.substr(at, 2), nullptr, 16)));
      at += 2;
    }
  }
  return examples;
}

TEST(QuantizerFormatTest, Examples_OfTheDocumentation_AreWhatIsWrittenAndRead) {
  const auto examples = Examples();
  ASSERT_THAT(examples, SizeIs(2));
  Quantizer quantizer({.bits = 4, .rotation = false, .seed = 1}, 3);
  const std::vector<float> x = {1, -0.5, 0.25};
  Bytes delta(quantizer.delta_bytes()), model(quantizer.register_bytes());
  std::vector<float> decoded(3), sum(3);
  ASSERT_TRUE(quantizer.EncodeDelta(x, {.writer = 2, .version = 9}, delta, decoded).ok());
  EXPECT_EQ(delta, examples[0]);
  ASSERT_TRUE(quantizer.AddDelta(examples[0], sum).ok());
  EXPECT_THAT(sum, ElementsAre(1.00596726F, -0.542603552F, 0.237600133F));

  ASSERT_TRUE(quantizer.EncodeRegister(x, {.writer = 2, .version = 9}, std::vector(1, 0.75F), model).ok());
  EXPECT_EQ(model, examples[1]);
  std::vector<std::size_t> failed;
  const std::vector<float> key = {0.5, -0.25, 0.75};
  ASSERT_TRUE(quantizer.DecodeRegister(Cut(examples[1], 0, 96), key, decoded, &failed).ok());
  EXPECT_THAT(failed, IsEmpty());
  EXPECT_THAT(decoded, ElementsAre(0.959365785F, -0.525484741F, 0.282621294F));
  EXPECT_EQ(quantizer.levels(), 4);
  EXPECT_EQ(quantizer.LevelRange(0, 1).offset, 96U);
  EXPECT_EQ(quantizer.LevelRange(0, 2).offset, 128U);
  EXPECT_EQ(quantizer.LevelRange(0, 3).offset, 192U);
}

// ---- the second decoder: a coordinate at a time, in double

std::uint64_t Mix(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}
constexpr std::uint64_t kG = 0x9e3779b97f4a7c15U;

struct NaiveMessage {
  const Bytes& bytes;
  std::uint64_t seed;
  std::size_t n = At<std::uint64_t>(24);
  std::uint64_t kind = At<std::uint8_t>(5);
  int b = At<std::uint8_t>(6);
  bool rotated = At<std::uint8_t>(7) != 0;

  template <typename T>
  T At(std::size_t offset) const {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
  }
  std::size_t blocks() const { return (n + 4095) / 4096; }
  std::size_t Coordinates(std::size_t block) const {
    const std::size_t floats = std::min<std::size_t>(4096, n - block * 4096);
    std::size_t m = 64;
    while (m < floats) m = rotated ? 2 * m : m + 64;
    return m;
  }
  std::size_t Codes() const { return (32 + blocks() * (kind == 1 ? 4 : 8) + 63) / 64 * 64; }
  float Scale(std::size_t block) const { return At<float>(32 + block * (kind == 1 ? 4 : 8)); }

  std::uint32_t Word(std::size_t block, std::size_t j) const {
    const std::uint64_t message = Mix(Mix(Mix(seed) + (kind << 32U | At<std::uint32_t>(8))) + At<std::uint64_t>(16));
    const std::uint64_t pair = Mix(Mix(message + (block + 1) * kG) + (j / 128 + 1) * kG);
    const auto a = static_cast<std::uint32_t>(j / 64 % 2 == 0 ? pair : pair >> 32U) | 1U;
    return a * (static_cast<std::uint32_t>(Mix((j % 64 + 1) * kG)) | 1U);
  }

  std::uint32_t Code(std::size_t block, std::size_t j) const {
    std::size_t group = Codes();
    for (std::size_t i = 0; i < block; ++i) group += Coordinates(i) * static_cast<std::size_t>(b) / 8;
    group += j / 64 * 8 * static_cast<std::size_t>(b);
    const std::size_t lane = j % 64;
    const std::size_t position = b <= 8 ? lane % 16 * 4 + lane / 16 : lane % 32 * 2 + lane / 32;
    if (b == 16) return At<std::uint16_t>(group + 2 * position);
    std::uint32_t code = 0;
    std::size_t shift = 0;
    for (std::size_t part = 8; part >= 1; part /= 2) {
      if ((static_cast<std::size_t>(b) & part) == 0) continue;
      const auto byte = At<std::uint8_t>(group + position % (8 * part));
      code |= (byte >> (position / (8 * part) * part) & ((1U << part) - 1)) << shift;
      shift += part;
      group += 8 * part;
    }
    return code;
  }

  // D H or H D, in double and by the definition.
  std::vector<double> Rotate(std::size_t block, std::vector<double> x, bool back) const {
    const std::size_t m = x.size();
    std::vector<double> signs(m), z(m);
    for (std::size_t i = 0; i < m; ++i) {
      signs[i] = (Mix(Mix(Mix(seed) + 2 * kG) + 64 * block + i / 64) >> (i % 64) & 1U) != 0 ? -1 : 1;
      if (!back) x[i] *= signs[i];
    }
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < m; ++j) z[i] += std::popcount(i & j) % 2 == 0 ? x[j] : -x[j];
      if (back) z[i] *= signs[i] / static_cast<double>(m);
    }
    return z;
  }

  // x', with the key y (zeros for a delta).
  std::vector<double> Decode(const std::vector<float>& y) const {
    std::vector<double> result;
    for (std::size_t block = 0; block < blocks(); ++block) {
      const std::size_t m = Coordinates(block), floats = std::min<std::size_t>(4096, n - block * 4096);
      std::vector<double> key(m), x(m);
      for (std::size_t i = 0; i < floats; ++i) key[i] = y[block * 4096 + i];
      if (rotated) key = Rotate(block, key, false);
      const double scale = Scale(block), q = std::ldexp(1.0, b);
      std::uint32_t hash = 0;
      for (std::size_t j = 0; j < m; ++j) {
        const std::uint32_t h = Word(block, j);
        const double u = std::ldexp(static_cast<double>(h >> b), b - 32) - 0.5;
        double residue = Code(block, j) - u;
        if (residue >= q / 2) residue -= q;
        const double r = kind == 1 ? 0 : std::round((key[j] / scale - residue) / q);
        hash += static_cast<std::uint32_t>(static_cast<std::int64_t>(r)) * h;
        x[j] = scale * (residue + q * r);
      }
      if (kind == 2) {
        EXPECT_EQ(hash, At<std::uint32_t>(32 + 8 * block + 4));
      }
      if (rotated) x = Rotate(block, x, true);
      result.insert(result.end(), x.begin(), x.begin() + static_cast<std::ptrdiff_t>(floats));
    }
    return result;
  }
};

class QuantizerFormatTest : public testing::TestWithParam<QuantizerCase> {};
INSTANTIATE_TEST_SUITE_P(All, QuantizerFormatTest, testing::ValuesIn(AllCases()), CaseName);

TEST_P(QuantizerFormatTest, Messages_ReadByTheDocumentedRules_AreTheSame) {
  if (GetParam().bits == 0) return;
  for (const std::size_t count : {1U, 100U, GetParam().rotation ? 300U : 4300U}) {
    Quantizer quantizer({.bits = GetParam().bits, .rotation = GetParam().rotation, .seed = 77}, count);
    const auto x = RandomFloats(count, 1.0F, 1);
    auto y = x;
    for (std::size_t i = 0; i < count; ++i) y[i] += i % 2 == 0 ? 0.02F : -0.01F;
    Bytes delta(quantizer.delta_bytes()), model(quantizer.register_bytes());
    std::vector<float> decoded(count);
    const double tolerance = LargestOf(x) * 0x1p-20;
    ASSERT_TRUE(quantizer.EncodeDelta(x, {.writer = 4, .version = 1ULL << 40U}, delta, decoded).ok());
    const auto naive_delta = NaiveMessage{.bytes = delta, .seed = 77}.Decode(std::vector<float>(count));
    for (std::size_t i = 0; i < count; ++i) ASSERT_NEAR(decoded[i], naive_delta[i], tolerance) << i;

    ASSERT_TRUE(
        quantizer.EncodeRegister(x, {.writer = 4, .version = 1ULL << 40U}, std::vector(quantizer.blocks(), 0.2F), model)
            .ok());
    std::vector<std::size_t> failed;
    ASSERT_TRUE(quantizer.DecodeRegister(model, y, decoded, &failed).ok());
    ASSERT_THAT(failed, IsEmpty());
    const auto naive_model = NaiveMessage{.bytes = model, .seed = 77}.Decode(y);
    for (std::size_t i = 0; i < count; ++i) ASSERT_NEAR(decoded[i], naive_model[i], tolerance) << i;
  }
}

// ---- damage

TEST_P(QuantizerFormatTest, TooShort_AtAnyLength_IsDataLossAndNothingChanges) {
  const std::size_t count = 70;
  Quantizer quantizer({.bits = GetParam().bits, .rotation = GetParam().rotation}, count);
  const auto x = RandomFloats(count, 1.0F, 1);
  Bytes delta(quantizer.delta_bytes()), model(quantizer.register_bytes());
  std::vector<float> decoded(count), sum = x;
  ASSERT_TRUE(quantizer.EncodeDelta(x, {}, delta, decoded).ok());
  ASSERT_TRUE(quantizer.EncodeRegister(x, {}, std::vector(1, 1.0F), model).ok());
  std::vector<std::size_t> failed;
  for (std::size_t size = 0; size < delta.size(); ++size) {
    const Status status = quantizer.AddDelta(Cut(delta, 0, size), sum);
    ASSERT_EQ(status.code(), StatusCode::kDataLoss) << size;
    ASSERT_THAT(status.message(), HasSubstr(std::to_string(size) + " bytes instead of"));
  }
  EXPECT_EQ(sum, x);
  for (std::size_t size = 0; size < quantizer.register_prefix_bytes(); ++size) {
    ASSERT_EQ(quantizer.DecodeRegister(Cut(model, 0, size), x, decoded, &failed).code(), StatusCode::kDataLoss);
    ASSERT_EQ(quantizer.DecodeBlock(Cut(model, 0, size), 0, 0, {}, x, decoded).status().code(), StatusCode::kDataLoss);
  }
  const Bytes prefix = Cut(model, 0, quantizer.register_prefix_bytes());
  for (int level = 1; level < quantizer.levels(); ++level) {
    std::vector<Bytes> digits(1);
    for (int l = 1; l <= level; ++l) digits.emplace_back(quantizer.LevelRange(0, l).size);
    digits.back().pop_back();
    const Status status = quantizer.DecodeBlock(prefix, 0, level, digits, x, decoded).status();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_THAT(status.message(), HasSubstr("block 0 lacks level " + std::to_string(level)));
  }
}

TEST_P(QuantizerFormatTest, Header_OfSomethingElse_IsDataLossThatNamesTheField) {
  const std::size_t count = 70;
  const QuantizerOptions options{.bits = GetParam().bits, .rotation = GetParam().rotation};
  Quantizer quantizer(options, count);
  const auto x = RandomFloats(count, 1.0F, 1);
  Bytes delta(quantizer.delta_bytes()), model(quantizer.register_bytes());
  std::vector<float> decoded(count), sum = x;
  ASSERT_TRUE(quantizer.EncodeDelta(x, {}, delta, decoded).ok());
  ASSERT_TRUE(quantizer.EncodeRegister(x, {}, std::vector(1, 1.0F), model).ok());
  const struct {
    std::size_t offset;
    const char* name;
  } fields[] = {{0, "WFQZ"},     {4, "format version"}, {5, "kind"},   {6, "bits"},
                {7, "rotation"}, {12, "seed"},          {24, "count"}, {31, "count"}};
  std::vector<std::size_t> failed;
  for (const auto& [offset, name] : fields) {
    Bytes bad_delta = delta, bad_model = model;
    bad_delta[offset] ^= std::byte{0x40};
    bad_model[offset] ^= std::byte{0x40};
    for (const Status& status :
         {quantizer.AddDelta(bad_delta, sum), quantizer.DecodeRegister(bad_model, x, decoded, &failed),
          quantizer.DecodeBlock(bad_model, 0, 0, {}, x, decoded).status()}) {
      EXPECT_EQ(status.code(), StatusCode::kDataLoss) << name;
      EXPECT_THAT(status.message(), HasSubstr(name));
    }
  }
  model.resize(std::max(model.size(), delta.size()));
  delta.resize(model.size());
  EXPECT_EQ(quantizer.AddDelta(model, sum).code(), StatusCode::kDataLoss);
  EXPECT_EQ(quantizer.DecodeRegister(delta, x, decoded, &failed).code(), StatusCode::kDataLoss);
  EXPECT_EQ(sum, x);
}

TEST_P(QuantizerFormatTest, Numbers_ThatNoEncoderWrites_AreDataLossAndNothingChanges) {
  const std::size_t count = 4200;
  Quantizer quantizer({.bits = GetParam().bits, .rotation = GetParam().rotation}, count);
  const auto x = RandomFloats(count, 1.0F, 1);
  Bytes delta(quantizer.delta_bytes()), model(quantizer.register_bytes());
  std::vector<float> decoded(count), sum = x;
  ASSERT_TRUE(quantizer.EncodeDelta(x, {}, delta, decoded).ok());
  ASSERT_TRUE(quantizer.EncodeRegister(x, {}, std::vector(2, 1.0F), model).ok());
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<std::size_t> failed;
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity, 0x1p102F}) {
    // The second block's scale, or where there is none its last float; and a raw float of the register.
    const std::size_t last_float = 64 + 4199 * sizeof(float);
    Bytes bad_delta = delta, bad_model = model;
    std::memcpy(bad_delta.data() + (GetParam().bits == 0 ? last_float : 36), &bad, sizeof(bad));
    std::memcpy(bad_model.data() + (GetParam().bits == 0 ? last_float : 40), &bad, sizeof(bad));
    EXPECT_EQ(quantizer.AddDelta(bad_delta, sum).code(), StatusCode::kDataLoss) << bad;
    EXPECT_EQ(quantizer.DecodeRegister(bad_model, x, decoded, &failed).code(), StatusCode::kDataLoss) << bad;
    const int raw = quantizer.levels() - 1;
    std::vector<Bytes> digits(static_cast<std::size_t>(raw) + 1);
    const ByteRange range = quantizer.LevelRange(1, raw);
    digits.back() = Cut(model, range.offset, range.size);
    std::memcpy(digits.back().data() + 4 * (4199 - 4096), &bad, sizeof(bad));
    const Bytes& prefix = GetParam().bits == 0 ? bad_model : model;
    EXPECT_EQ(quantizer.DecodeBlock(prefix, 1, raw, digits, x, decoded).status().code(), StatusCode::kDataLoss);
  }
  EXPECT_EQ(sum, x);
  if (GetParam().bits == 0) return;
  for (const float bad : {0.0F, -1.0F}) {
    std::memcpy(model.data() + 40, &bad, sizeof(bad));
    EXPECT_EQ(quantizer.DecodeRegister(model, x, decoded, &failed).code(), StatusCode::kDataLoss) << bad;
  }
}

}  // namespace
}  // namespace weft
