#include "common/metrics/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

namespace weft {
namespace {

using testing::EndsWith;
using testing::Not;
using testing::StartsWith;

TEST(MetricNamesTest, EveryName_FollowsPrometheusConventions) {
  for (const MetricInfo* info : AllMetrics()) {
    EXPECT_THAT(info->name, StartsWith("weft_"));
    EXPECT_EQ(std::string_view(info->name).find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos);
    if (info->type == MetricType::kCounter) {
      EXPECT_THAT(info->name, EndsWith("_total"));
    } else {
      EXPECT_THAT(info->name, Not(EndsWith("_total")));
    }
    EXPECT_EQ(info->buckets.empty(), info->type != MetricType::kHistogram) << info->name;
    EXPECT_TRUE(std::is_sorted(info->buckets.begin(), info->buckets.end())) << info->name;
    EXPECT_THAT(info->help, EndsWith("."));
  }
}

TEST(MetricNamesTest, EveryName_IsOnceInAProcess) {
  std::set<std::pair<std::string, bool>> seen;
  for (const MetricInfo* info : AllMetrics()) {
    EXPECT_TRUE(seen.insert({info->name, std::string_view(info->exported_by) == "coordinator"}).second) << info->name;
  }
}

// WEFT_REGENERATE=1 writes the table anew in place of comparing it.
TEST(MetricNamesTest, Reference_IsTheTable) {
  const char* path = "docs/reference/metrics.md";
  std::stringstream page;
  page << std::ifstream(path).rdbuf();
  const std::string text = page.str(), begin = "<!-- table -->\n", end = "<!-- end of table -->";
  const std::size_t from = text.find(begin), to = text.find(end);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos && from < to) << path;
  const std::size_t table = from + begin.size();
  if (std::getenv("WEFT_REGENERATE") != nullptr) {
    std::ofstream(path) << text.substr(0, table) << MetricsReference() << text.substr(to);
    return;
  }
  EXPECT_EQ(text.substr(table, to - table), MetricsReference())
      << "regenerate with WEFT_REGENERATE=1 build/release/tests/metrics_test";
}

}  // namespace
}  // namespace weft
