#include "agent/data/input_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/agent/data/test_files.h"

namespace weft {
namespace {

using testing::HasSubstr;

std::string Pattern(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>((i * i + i / 7) & 0xff);
  return text;
}

Result<std::string> ReadAll(const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(const auto file, InputFile::Open(path));
  std::string all;
  std::vector<std::uint8_t> buffer(1000);
  for (;;) {
    WEFT_ASSIGN_OR_RETURN(const std::size_t got, file->Read(buffer));
    all.append(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(got));
    if (got < buffer.size()) return all;
  }
}

TEST(InputFileTest, Read_PlainAndGzip_GiveTheSameBytes) {
  const TemporaryFolder folder;
  for (const std::size_t size : {0, 1, 999, 1000, 300'000}) {
    const std::string bytes = Pattern(size);
    WriteBytes(folder / "plain", bytes);
    WriteBytes(folder / "gzip", Gzip(bytes));
    EXPECT_EQ(*ReadAll(folder / "plain"), bytes);
    EXPECT_EQ(*ReadAll(folder / "gzip"), bytes);
  }
}

TEST(InputFileTest, Read_TwoGzipMembers_AreJoined) {
  const TemporaryFolder folder;
  WriteBytes(folder / "gzip", Gzip("one, ") + Gzip("") + Gzip("two"));
  EXPECT_EQ(*ReadAll(folder / "gzip"), "one, two");
}

TEST(InputFileTest, Read_GzipCutAtAnyByte_IsRefused) {
  const TemporaryFolder folder;
  const std::string whole = Gzip(Pattern(100));
  for (std::size_t size = 2; size < whole.size(); ++size) {
    WriteBytes(folder / "cut", whole.substr(0, size));
    const auto read = ReadAll(folder / "cut");
    ASSERT_FALSE(read.ok()) << size;
    EXPECT_EQ(read.status(), InvalidArgumentError(folder / "cut" + ": the gzip stream is cut short"));
  }
}

// Some bits of a deflate stream have no say in what it means.
TEST(InputFileTest, Read_GzipWithAnyByteOfItsDataOrTrailerChanged_IsRefusedUnlessTheDataIsTheSame) {
  const TemporaryFolder folder;
  const std::string bytes = Pattern(100);
  const std::string whole = Gzip(bytes);
  int refused = 0;
  for (std::size_t at = 10; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    WriteBytes(folder / "changed", changed);
    const auto read = ReadAll(folder / "changed");
    if (read.ok()) {
      EXPECT_EQ(*read, bytes) << at;
    } else {
      EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument) << at;
      ++refused;
    }
  }
  EXPECT_GT(refused, 90);
}

TEST(InputFileTest, Read_BytesAfterTheGzipStream_AreRefused) {
  const TemporaryFolder folder;
  WriteBytes(folder / "gzip", Gzip("data") + "more");
  EXPECT_THAT(ReadAll(folder / "gzip").status().message(), HasSubstr("gzip stream is damaged"));
}

TEST(InputFileTest, Append_FileThatEndsBefore_NamesWhereAndHowMuchWasWanted) {
  const TemporaryFolder folder;
  WriteBytes(folder / "short", "0123456789");
  const auto file = InputFile::Open(folder / "short");
  std::vector<std::uint8_t> bytes;
  ASSERT_TRUE((*file)->Append(4, bytes).ok());
  EXPECT_EQ((*file)->Append(20, bytes), InvalidArgumentError(folder / "short" + ": ends at byte 10 of 24"));
}

TEST(InputFileTest, Open_WhatIsNoFile_IsRefusedByName) {
  const TemporaryFolder folder;
  EXPECT_EQ(InputFile::Open(folder / "none").status(),
            InvalidArgumentError(folder / "none" + ": No such file or directory"));
  EXPECT_EQ(InputFile::Open(folder.path()).status(), InvalidArgumentError(folder.path() + ": is not a regular file"));
  EXPECT_EQ(InputFile::OpenEither(folder.path(), "a").status(),
            InvalidArgumentError(folder.path() + ": has neither a nor a.gz"));
  EXPECT_EQ(InputFile::OpenEither(folder / "none", "a").status(),
            InvalidArgumentError(folder / "none" + ": No such file or directory"));
}

}  // namespace
}  // namespace weft
