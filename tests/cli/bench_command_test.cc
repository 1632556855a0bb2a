#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_weft.h"

namespace weft {
namespace {

using testing::HasSubstr;

TEST(BenchModel, AsJson_ForOneModel_HasItsFigures) {
  const CommandOutcome outcome = RunWeft("bench model --model lenet --batch 3 --seconds 0.01 --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json models = nlohmann::json::parse(outcome.out)["models"];
  ASSERT_EQ(models.size(), 1U);
  EXPECT_EQ(models[0]["name"], "lenet");
  EXPECT_EQ(models[0]["batch"], 3);
  EXPECT_EQ(models[0]["unit"], "images");
  const auto step = models[0]["step_seconds"].get<double>();
  EXPECT_NEAR(models[0]["per_second"].get<double>(), 3 / step, 1e-6 / step);
  // 3 images; multiply-adds of conv1 twice (it has no input gradient), of all others three times.
  const double convolutions = 2.0 * 6 * 25 * 784 + 3.0 * 16 * 150 * 100;
  const double linears = 3.0 * (400 * 120 + 120 * 84 + 84 * 10);
  EXPECT_DOUBLE_EQ(models[0]["product_flops"].get<double>(), 3 * 2 * (convolutions + linears));
}

TEST(BenchModel, UnknownModel_IsBadInput) {
  const CommandOutcome outcome = RunWeft("bench model --model alexnet");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("alexnet is none of"));
}

TEST(BenchQuantizer, AsJson_ForOneWidth_HasRatiosToTheCopyOfTheSameFloats) {
  const CommandOutcome outcome = RunWeft("bench quantizer --bits 4 --bytes 40000 --seconds 0.01 --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json cases = nlohmann::json::parse(outcome.out)["cases"];
  ASSERT_EQ(cases.size(), 2U);
  for (const nlohmann::json& one : cases) {
    EXPECT_EQ(one["bytes"], 40000);
    EXPECT_EQ(one["bits"], 4);
    const auto copy = one["memcpy_seconds"].get<double>();
    for (const std::string name : {"encode_delta", "add_delta", "encode_register", "decode_register"}) {
      const auto seconds = one[name + "_seconds"].get<double>();
      EXPECT_GT(seconds, 0) << name;
      EXPECT_NEAR(one[name + "_ratio"].get<double>(), copy / seconds, 1e-9 * copy / seconds) << name;
    }
  }
  EXPECT_EQ(cases[0]["rotation"], false);
  EXPECT_EQ(cases[1]["rotation"], true);
  // Two blocks of 2048 bytes and one filled up to 1856 coordinates, or to 2048 with rotation, behind a header of 64.
  EXPECT_EQ(cases[0]["delta_bytes"], 64 + 2 * 2048 + 928);
  EXPECT_EQ(cases[1]["delta_bytes"], 64 + 2 * 2048 + 1024);
}

TEST(BenchQuantizer, WidthOrSizeOutOfRange_IsBadInput) {
  for (const std::string arguments : {"--bits 1", "--bits 17", "--bytes 3"}) {
    const CommandOutcome outcome = RunWeft("bench quantizer --seconds 0.01 " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr(arguments.substr(0, arguments.find(' ')))) << arguments;
  }
}

}  // namespace
}  // namespace weft
