#include "common/testbed/testbed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using testing::HasSubstr;

TEST(TestbedTest, Make_NumbersHostsFromZeroAndAddressesFromOne) {
  const Testbed testbed = MakeTestbed("bed", 7, {100'000'000, 10'000'000});
  ASSERT_EQ(testbed.hosts.size(), 2U);
  EXPECT_EQ(testbed.hosts[1].address, "10.213.7.2");
  EXPECT_EQ(testbed.hosts[1].network_namespace, "/run/netns/weft.bed.1");
  EXPECT_EQ(testbed.hosts[1].host_name, "bed-1");
  EXPECT_EQ(testbed.hosts[1].bits_per_second, 10'000'000);
  EXPECT_EQ(testbed.control.address, "10.213.7.254");
  EXPECT_EQ(testbed.control.bits_per_second, 0);
}

TEST(TestbedTest, Json_ComesBackEqual) {
  Testbed testbed = MakeTestbed("bed", 255, std::vector<std::int64_t>(kMaxTestbedHosts, 1'000'000'000));
  testbed.latency_us = 5000;
  const Result<Testbed> read = ParseTestbed(TestbedToJson(testbed));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, testbed);
}

TEST(TestbedTest, Parse_NoTestbed_IsRefusedInOneLine) {
  for (const char* text :
       {"", "[]", "{}", R"({"name": 3})", R"({"name": "a", "subnet": 0, "latency_us": 0, "control": 1})"}) {
    const Status status = ParseTestbed(text).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), Not(HasSubstr("\n")));
  }
}

TEST(TestbedTest, Names_WithoutDotsSlashesOrCapitals) {
  for (const char* name : {"a", "bed-2", "0"}) EXPECT_TRUE(CheckTestbedName(name).ok()) << name;
  for (const std::string& name : {std::string(""), std::string("-a"), std::string("a-"), std::string("a.b"),
                                  std::string("../a"), std::string("A"), std::string(33, 'a')}) {
    EXPECT_EQ(CheckTestbedName(name).code(), StatusCode::kInvalidArgument) << name;
  }
}

TEST(TestbedTest, MoreRanksThanHosts_AreRefusedWithBothNumbers) {
  const Testbed testbed = MakeTestbed("bed", 0, {1'000'000, 1'000'000, 1'000'000});
  EXPECT_TRUE(CheckRanksFit(testbed, 3).ok());
  EXPECT_EQ(CheckRanksFit(testbed, 5),
            InvalidArgumentError("test-bed bed: 3 hosts are too few for 5 ranks, one on each"));
}

TEST(TestbedTest, Enter_ANetworkThatIsGone_IsNotFound) {
  const TestbedHost host{.network_namespace = "/run/netns/weft.nobody.0"};
  EXPECT_EQ(EnterTestbedHost(host, true).code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace weft
