#include "common/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace weft {
namespace {

Result<int> Half(int n) {
  if (n % 2 != 0) return InvalidArgumentError("n: " + std::to_string(n) + " is odd");
  return n / 2;
}

Result<int> Quarter(int n) {
  WEFT_ASSIGN_OR_RETURN(const int half, Half(n));
  return Half(half);
}

TEST(StatusTest, Default_IsOk) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().ToString(), "OK");
}

TEST(StatusTest, WithContext_KeepsCodeAndLeavesOkAlone) {
  const Status error = NotFoundError("b").WithContext("a");
  EXPECT_EQ(error.code(), StatusCode::kNotFound);
  EXPECT_EQ(error.message(), "a: b");
  EXPECT_TRUE(OkStatus().WithContext("a").ok());
}

TEST(StatusTest, ErrnoError_NamesActionAndCause) {
  const Status error = ErrnoError("write /x", ENOSPC);
  EXPECT_EQ(error.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(error.message(), "write /x: No space left on device");
}

TEST(ResultTest, AssignOrReturn_PassesFirstErrorOn) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_EQ(Quarter(6).status().message(), "n: 3 is odd");
  EXPECT_EQ(Quarter(5).status().message(), "n: 5 is odd");
}

TEST(ResultTest, Value_MovesOut) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(3);
  std::unique_ptr<int> value = std::move(result).value();
  EXPECT_EQ(*value, 3);
}

TEST(ResultDeathTest, Value_OfError_EndsTheProcessWithTheMessage) {
  EXPECT_DEATH({ [[maybe_unused]] const int v = Half(1).value(); }, "n: 1 is odd");
}

}  // namespace
}  // namespace weft
