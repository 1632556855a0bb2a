#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "coordinator/service/run_files.h"

namespace weft {
namespace {

using Json = nlohmann::json;

class MetricsFileTest : public testing::Test {
 protected:
  ~MetricsFileTest() override { std::filesystem::remove(path_); }

  std::string Written(const v1::IterationReport& report) {
    std::filesystem::remove(path_);
    auto file = MetricsFile::Open(path_, /*start_iteration=*/0);
    EXPECT_TRUE(file.ok()) << file.status();
    (*file)->Add(/*rank=*/1, report);
    EXPECT_TRUE((*file)->Flush().ok());
    std::string line;
    std::ifstream(path_) >> line;
    return line;
  }

  const std::string path_ = testing::TempDir() + "weft_metrics_" + std::to_string(getpid());
};

TEST_F(MetricsFileTest, Iteration_HasItsFieldsInTheFormatsOrder) {
  v1::IterationReport report;
  report.set_iteration(7);
  report.set_epoch(2);
  report.set_start_ns(1'000'000);
  report.set_forward_end_ns(1'500'250);
  report.set_end_ns(2'000'000);
  report.set_stall_ns(1);
  report.set_sent_bytes(10);
  report.set_received_bytes(20);
  report.add_group_stall_us(0);
  report.add_group_stall_us(1e-7);
  report.set_loss_sum(1);
  report.set_predictions(3);
  report.set_correct(3);
  report.set_samples(64);
  report.set_staleness_iterations(4);
  for (const bool overrun : {true, false}) {
    v1::Transfer& transfer = *report.add_transfers();
    transfer.set_group(5);
    transfer.set_start_ns(999'000);
    transfer.set_overrun(overrun);
  }
  const std::string line = Written(report);
  EXPECT_TRUE(line.starts_with(
      R"({"iteration":7,"epoch":2,"rank":1,"start_ns":1000000,"iteration_us":1000.0,"forward_us":500.25,)"))
      << line;
  const Json parsed = Json::parse(line);
  EXPECT_EQ(parsed["stall_us"], 0.001);
  EXPECT_EQ(parsed["group_stall_us"], Json({0.0, 1e-7}));
  EXPECT_EQ(parsed["loss"], 1.0 / 3.0);
  EXPECT_EQ(parsed["accuracy"], 1.0);
  ASSERT_EQ(parsed["transfers"].size(), 2u);
  EXPECT_EQ(parsed["transfers"][0]["start_us"], -1.0);
  EXPECT_EQ(parsed["transfers"][0]["overrun"], true);
  EXPECT_EQ(parsed["transfers"][1]["overrun"], false);
  EXPECT_EQ(parsed["transfers"][1]["group"], 5);
}

TEST_F(MetricsFileTest, LossThatIsNoNumber_IsNull) {
  v1::IterationReport report;
  for (const double loss : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    report.set_loss_sum(loss);
    EXPECT_TRUE(Json::parse(Written(report))["loss"].is_null());
  }
}

TEST_F(MetricsFileTest, Numbers_AreReadAsTheyWere) {
  v1::IterationReport report;
  for (const double value : {0.0, 1.0, -0.1, 1e22, 1e300, 5e-324, 0.1 + 0.2, 123456789.123}) {
    report.clear_group_stall_us();
    report.add_group_stall_us(value);
    EXPECT_EQ(Json::parse(Written(report))["group_stall_us"][0].get<double>(), value);
  }
}

}  // namespace
}  // namespace weft
