#include "agent/transport/shared_segment.h"

#include <sys/wait.h>
#include <unistd.h>

#include "agent/transport/registers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

std::unique_ptr<SharedSegment> MakeSegment(std::size_t bytes) {
  auto made = SharedSegment::Make(bytes);
  EXPECT_TRUE(made.ok()) << made.status();
  return std::move(made).value();
}

TEST(SharedSegment, OpenedTwice_IsOneMemory) {
  const auto made = MakeSegment(4096);
  auto opened = SharedSegment::Open(made->address());
  ASSERT_TRUE(opened.ok()) << opened.status();
  ASSERT_EQ((*opened)->bytes().size(), 4096U);
  EXPECT_NE((*opened)->bytes().data(), made->bytes().data());
  EXPECT_EQ(LoadWord((*opened)->bytes(), 4088), 0U);
  StoreWord(made->bytes(), 4088, 3);
  EXPECT_EQ(LoadWord((*opened)->bytes(), 4088), 3U);
}

TEST(SharedSegment, AnotherProcess_WritesIt) {
  const auto made = MakeSegment(64);
  const pid_t child = fork();
  if (child == 0) {
    auto opened = SharedSegment::Open(made->address());
    if (opened.ok()) StoreWord((*opened)->bytes(), 0, 7);
    _exit(opened.ok() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(LoadWord(made->bytes(), 0), 7U);
}

TEST(SharedSegment, Closed_OpensNoMoreButStays) {
  const auto made = MakeSegment(64);
  auto opened = SharedSegment::Open(made->address());
  ASSERT_TRUE(opened.ok()) << opened.status();
  made->Close();
  EXPECT_FALSE(SharedSegment::Open(made->address()).ok());
  StoreWord(made->bytes(), 8, 5);
  EXPECT_EQ(LoadWord((*opened)->bytes(), 8), 5U);
}

TEST(SharedSegment, NumbersThatMeanOtherMemory_AreNotFound) {
  const auto made = MakeSegment(64);
  SharedSegment::Address other = made->address();
  other.secret[1] ^= 1;
  EXPECT_EQ(SharedSegment::Open(other).status().code(), StatusCode::kNotFound);
  other = made->address();
  other.bytes = 1 << 20;
  EXPECT_EQ(SharedSegment::Open(other).status().code(), StatusCode::kNotFound);
  other = made->address();
  other.descriptor = 100'000;
  EXPECT_EQ(SharedSegment::Open(other).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace weft
