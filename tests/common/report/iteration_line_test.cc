#include "common/report/iteration_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kLine =
    R"({"iteration":7,"epoch":2,"rank":1,"start_ns":90531200417335,"iteration_us":20310.4,"forward_us":6120.0,)"
    R"("stall_us":85.25,"communication_us":9.75e1,"sent_bytes":192480,"received_bytes":192480,)"
    R"("group_stall_us":[0.0,85.25],"loss":1.42,"accuracy":0.53,"samples":64,"staleness_iterations":4.0,)"
    R"("transfers":[{"group":1,"overrun":false}]})";

std::string With(const std::string& from, const std::string& to) {
  std::string line = kLine;
  const std::size_t at = line.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return line.replace(at, from.size(), to);
}

TEST(IterationLineTest, LineOfACoordinator_IsWhatAParserReads) {
  std::vector<double> stalls = {1, 2, 3};
  const auto line = ScanIterationLine(kLine, &stalls);
  ASSERT_TRUE(line.has_value());
  const nlohmann::json parsed = nlohmann::json::parse(kLine);
  EXPECT_EQ(line->iteration, parsed["iteration"]);
  EXPECT_EQ(line->epoch, parsed["epoch"]);
  EXPECT_EQ(line->rank, parsed["rank"]);
  EXPECT_EQ(line->start_ns, parsed["start_ns"]);
  EXPECT_EQ(line->iteration_us, parsed["iteration_us"]);
  EXPECT_EQ(line->forward_us, parsed["forward_us"]);
  EXPECT_EQ(line->stall_us, parsed["stall_us"]);
  EXPECT_EQ(line->communication_us, parsed["communication_us"]);
  EXPECT_EQ(line->loss, parsed["loss"]);
  EXPECT_EQ(line->accuracy, parsed["accuracy"]);
  EXPECT_EQ(line->staleness, parsed["staleness_iterations"]);
  EXPECT_THAT(stalls, ElementsAre(0.0, 85.25));
}

TEST(IterationLineTest, NoGroupsAndNoTransfers_IsRead) {
  std::vector<double> stalls;
  const std::string line = With("[0.0,85.25]", "[]");
  EXPECT_TRUE(ScanIterationLine(line, &stalls).has_value());
  EXPECT_THAT(stalls, IsEmpty());
  EXPECT_TRUE(ScanIterationLine(With(R"({"group":1,"overrun":false})", ""), &stalls).has_value());
}

TEST(IterationLineTest, LossThatIsNull_IsNaN) {
  std::vector<double> stalls;
  const auto line = ScanIterationLine(With("1.42", "null"), &stalls);
  ASSERT_TRUE(line.has_value());
  EXPECT_TRUE(std::isnan(line->loss));
}

TEST(IterationLineTest, WhatIsWrittenInAnotherWay_IsLeftToAParser) {
  std::vector<double> stalls;
  for (const std::string& line : {std::string(), std::string("{"), std::string(R"({"iteration":7,"resumed":true})"),
                                  With(":7", ": 7"), With(":7", ":0"), With("1.42", "nan"), With("1.42", "\"1\""),
                                  With("\"rank\":1", "\"rank\":-1"), With("\"rank\":1", "\"rank\":99999999999"),
                                  With("64", "64.5"), With("[0.0,85.25]", "[0.0"), With("}]}", "}]")}) {
    EXPECT_FALSE(ScanIterationLine(line, &stalls).has_value()) << line;
  }
  const std::string whole = kLine;
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    EXPECT_FALSE(ScanIterationLine(whole.substr(0, cut), &stalls).has_value()) << cut;
  }
}

}  // namespace
}  // namespace weft
