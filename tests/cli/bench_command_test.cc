#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

}  // namespace
}  // namespace weft
