#include "cli/testbed_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace weft {
namespace {

using testing::Contains;
using testing::ElementsAre;

std::vector<std::string> Lines(const std::vector<ToolCommand>& commands) {
  std::vector<std::string> lines;
  for (const ToolCommand& command : commands) {
    std::string line;
    for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
    lines.push_back(line);
  }
  return lines;
}

TEST(RateTest, Rates_AreDecimalWithAUnit) {
  EXPECT_EQ(*ParseRate("1gbit"), 1'000'000'000);
  EXPECT_EQ(*ParseRate("2.5Mbit"), 2'500'000);
  EXPECT_EQ(*ParseRate("100kbit"), 100'000);
  EXPECT_EQ(*ParseRate("100000bit"), 100'000);
  for (const std::int64_t rate : {100'000, 2'500'000, 123'457, 1'000'000'000}) {
    EXPECT_EQ(*ParseRate(RateText(rate)), rate) << RateText(rate);
  }
  EXPECT_EQ(RateText(250'000'000), "250mbit");
}

TEST(RateTest, OthersThanRates_AreRefused) {
  for (const char* text :
       {"", "mbit", "100", "100mb", "-1mbit", "nanmbit", "infgbit", "1e99gbit", "99kbit", "101gbit", "1mbit "}) {
    EXPECT_EQ(ParseRate(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(ShapingTest, BurstAndQueue_FollowTheRateAndHoldAFewPackets) {
  EXPECT_EQ(ShapingFor(1'000'000'000).burst_bytes, 125'000);
  EXPECT_EQ(ShapingFor(1'000'000'000).limit_bytes, 2'500'000);
  EXPECT_EQ(ShapingFor(1'000'000).burst_bytes, 3 * 1514);
  EXPECT_EQ(ShapingFor(1'000'000).limit_bytes, 65536);
}

TEST(TestbedNetworkTest, Up_ShapesBothEndsOfAHostsLinkAndNotTheControlHosts) {
  const std::vector<std::string> lines = Lines(UpCommands(MakeTestbed("bed", 3, {100'000'000, 10'000'000})));
  EXPECT_EQ(lines.front(), "ip netns add weft.bed.switch");
  EXPECT_THAT(lines, Contains("ip -n weft.bed.switch link add port-1 type veth peer name weft0 netns weft.bed.1"));
  EXPECT_THAT(lines, Contains("ip -n weft.bed.1 addr add 10.213.3.2/24 dev weft0"));
  EXPECT_THAT(lines, Contains("tc -n weft.bed.0 qdisc replace dev weft0 root handle 1: tbf rate 100000000bit burst "
                              "12500b limit 250000b"));
  EXPECT_THAT(lines, Contains("tc -n weft.bed.switch qdisc replace dev port-1 root handle 1: tbf rate 10000000bit "
                              "burst 4542b limit 65536b"));
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(), [](const std::string& line) { return line.starts_with("tc"); }),
            4);
  // Nothing leads out.
  for (const std::string& line : lines) EXPECT_EQ(line.find("route"), std::string::npos) << line;
}

TEST(TestbedNetworkTest, Latency_IsAddedWhereAHostSends) {
  Testbed testbed = MakeTestbed("bed", 0, {100'000'000});
  testbed.latency_us = 5000;
  EXPECT_THAT(Lines(UpCommands(testbed)),
              Contains("tc -n weft.bed.0 qdisc add dev weft0 parent 1:1 netem delay 5000us limit 100000"));
}

TEST(TestbedNetworkTest, Rate_ChangesBothDirections) {
  EXPECT_THAT(Lines(RateCommands(MakeTestbed("bed", 0, {100'000'000}), 0, 50'000'000)),
              ElementsAre("tc -n weft.bed.0 qdisc replace dev weft0 root handle 1: tbf rate 50000000bit burst 6250b "
                          "limit 125000b",
                          "tc -n weft.bed.switch qdisc replace dev port-0 root handle 1: tbf rate 50000000bit burst "
                          "6250b limit 125000b"));
}

TEST(TestbedNetworkTest, Cut_TakesTheSwitchsEndOfTheLink) {
  const Testbed testbed = MakeTestbed("bed", 0, {100'000'000, 100'000'000});
  EXPECT_THAT(CutCommand(testbed, 1, true),
              ElementsAre("ip", "-n", "weft.bed.switch", "link", "set", "port-1", "down"));
  EXPECT_EQ(CutCommand(testbed, 1, false).back(), "up");
}

}  // namespace
}  // namespace weft
