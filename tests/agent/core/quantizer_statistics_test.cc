// What the dither and the hash promise, measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "agent/core/quantizer.h"
#include "agent/core/quantizer_dither.h"
#include "agent/core/quantizer_kernels.h"
#include "tests/agent/core/quantizer_testing.h"

namespace weft {
namespace {

// u of a message's first `blocks` blocks, in units where it is uniform over [-1/2, 1/2).
std::vector<double> Dithers(std::uint64_t seed, std::uint32_t writer, std::uint64_t version, std::size_t blocks) {
  std::vector<double> values;
  const std::uint64_t key = MessageKey(seed, 1, writer, version);
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::size_t j = 0; j < Quantizer::kBlock; ++j) {
      values.push_back(static_cast<double>(DitherWord(BlockKey(key, block), j)) * 0x1p-32 - 0.5);
    }
  }
  return values;
}

// Times the root of its number of terms: of unit variance if the two are independent.
double Correlation(const std::vector<double>& a, const std::vector<double>& b, std::size_t lag) {
  double sum = 0;
  for (std::size_t i = 0; i + lag < a.size(); ++i) sum += a[i] * b[i + lag];
  return sum * 12 / std::sqrt(static_cast<double>(a.size() - lag));
}

TEST(DitherTest, Values_AreUniform) {
  constexpr std::size_t kBins = 256;
  const auto values = Dithers(1, 2, 3, 256);
  for (const std::size_t stride : {std::size_t{1}, std::size_t{64}, std::size_t{4096}}) {
    std::vector<double> bins(kBins);
    double number = 0;
    for (std::size_t i = 0; i < values.size(); i += stride, ++number) {
      ++bins[static_cast<std::size_t>((values[i] + 0.5) * kBins)];
    }
    double chi_square = 0;
    for (const double bin : bins) chi_square += std::pow(bin - number / kBins, 2) / (number / kBins);
    // 255 degrees of freedom: five standard deviations.
    EXPECT_NEAR(chi_square, 255, 5 * std::sqrt(2 * 255.0)) << "every " << stride;
  }
}

TEST(DitherTest, Values_OfOneMessage_HaveNoSerialCorrelation) {
  const auto values = Dithers(1, 2, 3, 256);
  for (std::size_t lag = 1; lag <= 300; ++lag) EXPECT_LT(std::abs(Correlation(values, values, lag)), 5) << lag;
  for (const std::size_t lag : {512U, 4096U, 8192U}) EXPECT_LT(std::abs(Correlation(values, values, lag)), 5) << lag;
}

TEST(DitherTest, Values_OfTwoMessages_AreUncorrelated) {
  const auto values = Dithers(1, 2, 3, 64);
  for (const auto& other : {Dithers(2, 2, 3, 64), Dithers(1, 3, 3, 64), Dithers(1, 2, 4, 64), Dithers(1, 3, 2, 64)}) {
    for (std::size_t lag = 0; lag <= 128; ++lag) EXPECT_LT(std::abs(Correlation(values, other, lag)), 5) << lag;
  }
}

// Two coordinates of a group are X and a multiple of X modulo 2^31: the smallest |ab| of a relation a X + b Y = 0
// bounds their correlation. It is found among the convergents of a continued fraction.
TEST(DitherTest, Factors_OfAnyTwoLanes_HaveNoShortRelation) {
  constexpr std::uint64_t kModulus = std::uint64_t{1} << 31U;
  std::uint64_t smallest = kModulus;
  for (std::size_t l = 0; l < kCodeGroup; ++l) {
    for (std::size_t m = 0; m < l; ++m) {
      std::uint64_t inverse = 1;
      for (int i = 0; i < 5; ++i) inverse *= 2 - kLaneFactors.of[m] * inverse;
      std::uint64_t r0 = kModulus, r1 = kLaneFactors.of[l] * inverse % kModulus, s0 = 0, s1 = 1;
      while (r1 != 0) {
        smallest = std::min(smallest, r1 * s1);
        const std::uint64_t quotient = r0 / r1;
        r0 -= quotient * r1;
        std::swap(r0, r1);
        s0 += quotient * s1;
        std::swap(s0, s1);
      }
    }
  }
  EXPECT_GE(smallest, 30000U);
}

class QuantizerErrorTest : public testing::TestWithParam<QuantizerCase> {};
INSTANTIATE_TEST_SUITE_P(All, QuantizerErrorTest,
                         testing::Values(QuantizerCase{2, false}, QuantizerCase{3, true}, QuantizerCase{4, false},
                                         QuantizerCase{8, false}, QuantizerCase{8, true}, QuantizerCase{12, false},
                                         QuantizerCase{16, false}),
                         CaseName);

// Of many messages with the same numbers.
class Errors {
 public:
  Errors(const QuantizerCase& of, std::size_t count) : case_(of), sums_(count) {}

  void Add(std::span<const std::byte> message, std::span<const float> decoded, std::span<const float> x) {
    ++messages_;
    std::memcpy(&scale_, message.data() + 32, sizeof(scale_));
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const double error = static_cast<double>(decoded[i]) - x[i];
      sums_[i] += error;
      squares_ += error * error;
    }
  }

  // `rounding`: of one number. `margin`: of the mean square, beside its statistics.
  void ExpectUnbiasedWithAVarianceOfATwelfth(double rounding, double margin) const {
    const auto count = static_cast<double>(sums_.size());
    // A rotated coordinate is the root of their number times as large.
    const double deviation = scale_ / (case_.rotation ? std::sqrt(count) : 1.0) / std::sqrt(12.0);
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      EXPECT_LE(std::abs(sums_[i] / messages_), 5 * deviation / std::sqrt(messages_) + rounding) << i;
    }
    // The square of a uniform number has a relative deviation of sqrt(4/5).
    const double terms = count * messages_;
    EXPECT_NEAR(squares_ / terms / (deviation * deviation), 1, 5 * std::sqrt(0.8 / terms) + margin);
  }

 private:
  const QuantizerCase case_;
  std::vector<double> sums_;
  double squares_ = 0;
  float scale_ = 0;  // of the last message
  int messages_ = 0;
};

// Over many dithers of the same numbers, each one's mean is itself, and the mean square is a twelfth of the step's.
TEST_P(QuantizerErrorTest, Delta_OfTheSameNumbers_IsUnbiasedWithAVarianceOfATwelfth) {
  constexpr std::size_t kCount = 256;
  constexpr int kMessages = 2000;
  Quantizer quantizer({.bits = GetParam().bits, .rotation = GetParam().rotation, .seed = 11}, kCount);
  auto x = RandomFloats(kCount, 1.0F, 5);
  x[0] = 0;
  x[1] = LargestOf(x);  // at the edge
  x[2] = x[1] / 3;
  Errors errors(GetParam(), kCount);
  for (int version = 0; version < kMessages; ++version) {
    Bytes message(quantizer.delta_bytes());
    std::vector<float> decoded(kCount);
    ASSERT_TRUE(
        quantizer.EncodeDelta(x, {.writer = 1, .version = static_cast<std::uint64_t>(version)}, message, decoded).ok());
    errors.Add(message, decoded, x);
  }
  errors.ExpectUnbiasedWithAVarianceOfATwelfth(LargestOf(x) * 0x1p-24, GetParam().bits > 12 ? 0.01 : 0);
}

TEST_P(QuantizerErrorTest, Register_OfTheSameNumbers_IsUnbiasedWithAVarianceOfATwelfth) {
  constexpr std::size_t kCount = 256;
  constexpr int kMessages = 2000;
  Quantizer quantizer({.bits = GetParam().bits, .rotation = GetParam().rotation, .seed = 11}, kCount);
  const auto x = RandomFloats(kCount, 1.0F, 5);
  auto y = x;
  for (std::size_t i = 0; i < kCount; ++i) y[i] += (i % 3 == 0 ? 0.05F : -0.1F);
  Errors errors(GetParam(), kCount);
  for (int version = 0; version < kMessages; ++version) {
    Bytes message(quantizer.register_bytes());
    std::vector<float> decoded(kCount);
    std::vector<std::size_t> failed;
    ASSERT_TRUE(quantizer
                    .EncodeRegister(x, {.writer = 1, .version = static_cast<std::uint64_t>(version)},
                                    std::vector(1, 0.5F), message)
                    .ok());
    ASSERT_TRUE(quantizer.DecodeRegister(message, y, decoded, &failed).ok());
    ASSERT_TRUE(failed.empty());
    errors.Add(message, decoded, x);
  }
  errors.ExpectUnbiasedWithAVarianceOfATwelfth(LargestOf(x) * 0x1p-23, GetParam().bits > 12 ? 0.05 : 0);
}

// A miss, once in some 2^31, is too rare to be counted. What is: how often ten bits of the difference of two hashes are
// all zero. Factors are odd, so an odd sum of wraps is never missed and an even one has the lowest bit for sure.
TEST(HashTest, WrongKeys_AreMissedAsOftenAsRandomWordsAgree) {
  constexpr int kTrials = 60000;
  constexpr std::size_t kCount = 128;
  std::mt19937 random(1);
  const auto x = RandomFloats(kCount, 1.0F, 1);
  std::vector<std::int32_t> k(kCount);
  std::vector<std::byte> codes(kCount);
  std::vector<float> y(kCount), decoded(kCount);
  int missed = 0, low_agree = 0, middle_agree = 0, wrong = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Lattice lattice{.count = kCount, .bits = 8, .scale = 0.001F, .block_key = random()};
    const std::uint32_t hash = EncodeRegisterBlock(lattice, x.data(), k.data());
    TakeDigits(k.data(), kCount, 0, 8, codes.data());
    y = x;
    // Some coordinates are off by up to three wraps of 0.256.
    const auto number = 1 + random() % 8;
    for (std::size_t i = 0; i < number; ++i) {
      y[random() % kCount] += static_cast<float>(static_cast<int>(random() % 7) - 3) * 0.256F;
    }
    const DecodedBlock result = DecodeRegisterBlock(lattice, codes.data(), y.data(), decoded.data());
    if (LargestDifference(decoded, x) < 0.1) {
      ASSERT_EQ(result.hash, hash);
      continue;
    }
    ++wrong;
    const std::uint32_t difference = result.hash - hash;
    missed += difference == 0;
    low_agree += (difference & 1023U) == 0;
    middle_agree += ((difference >> 16U) & 1023U) == 0;
  }
  EXPECT_GT(wrong, kTrials / 2);
  EXPECT_EQ(missed, 0);
  // Binomial, five standard deviations; wraps of two and more share low bits.
  EXPECT_LT(low_agree, 2 * (wrong / 1024.0 + 5 * std::sqrt(wrong / 1024.0)));
  EXPECT_NEAR(middle_agree, wrong / 1024.0, 5 * std::sqrt(wrong / 1024.0));
}

}  // namespace
}  // namespace weft
