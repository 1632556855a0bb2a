#include "coordinator/service/prometheus_targets.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weft {
namespace {

TEST(PrometheusTargetsTest, CoordinatorAndRanks_HaveAddressesAndLabels) {
  const auto expected = nlohmann::json::parse(R"([
    {"targets": ["127.0.0.1:9400"], "labels": {"training_job": "a \"job\"", "role": "coordinator"}},
    {"targets": ["127.0.0.1:9401"], "labels": {"training_job": "a \"job\"", "role": "worker", "rank": "0"}},
    {"targets": ["127.0.0.1:9402"], "labels": {"training_job": "a \"job\"", "role": "worker", "rank": "1"}},
    {"targets": ["10.213.0.3:9403"], "labels": {"training_job": "a \"job\"", "role": "server", "rank": "2"}}])");
  EXPECT_EQ(
      nlohmann::json::parse(PrometheusTargets("a \"job\"", 2, "127.0.0.1:9400",
                                              {{0, "127.0.0.1:9401"}, {1, "127.0.0.1:9402"}, {2, "10.213.0.3:9403"}})),
      expected);
}

}  // namespace
}  // namespace weft
