#include "common/rpc/rpc.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using testing::HasSubstr;

TEST(RpcTest, Status_TravelsUnchangedBothWays) {
  const Status refused = InvalidArgumentError("rank: 7 is not below 3");
  EXPECT_EQ(FromGrpc(ToGrpc(refused)), refused);
  EXPECT_EQ(FromGrpc(ToGrpc(OkStatus())), OkStatus());
  EXPECT_EQ(ToGrpc(refused).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST(RpcTest, Connect_NobodyThere_IsUnavailableAtTheDeadline) {
  const auto channel = Connect("unix:" + testing::TempDir() + "weft_no_socket", Clock::Steady().Now());
  ASSERT_FALSE(channel.ok());
  EXPECT_EQ(channel.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(channel.status().message(), HasSubstr("weft_no_socket"));
}

}  // namespace
}  // namespace weft
