#include "common/rundir/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/common/rundir/full_disk.h"
#include "tests/common/temporary_folder.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

TEST(AtomicFileTest, Commit_ReplacesTheFileAndLeavesNothingElse) {
  const TemporaryFolder folder;
  WriteBytes(folder / "a", "old and long");
  EXPECT_EQ(WriteFileAtomically(folder / "a", "new"), OkStatus());
  EXPECT_EQ(ReadBytes(folder / "a"), "new");
  EXPECT_THAT(NamesIn(folder.path()), ElementsAre("a"));
}

TEST(AtomicFileTest, Destructor_BeforeCommit_LeavesWhatWasThere) {
  const TemporaryFolder folder;
  WriteBytes(folder / "a", "old");
  {
    const auto file = AtomicFile::Create(folder / "a");
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_EQ((*file)->Write("new"), OkStatus());
    EXPECT_EQ(ReadBytes(folder / "a"), "old");
  }
  EXPECT_EQ(ReadBytes(folder / "a"), "old");
  EXPECT_THAT(NamesIn(folder.path()), ElementsAre("a"));
}

TEST(AtomicFileTest, Write_PastTheFileSizeLimit_IsOneLineAndLeavesWhatWasThere) {
  const TemporaryFolder folder;
  WriteBytes(folder / "a", "old");
  {
    const FileSizeLimit limit(4096);
    EXPECT_EQ(WriteFileAtomically(folder / "a", std::string(5000, 'x')),
              ResourceExhaustedError("write " + (folder / "a") + ": File too large"));
  }
  EXPECT_EQ(ReadBytes(folder / "a"), "old");
  EXPECT_THAT(NamesIn(folder.path()), ElementsAre("a"));
}

TEST(AtomicFileTest, Write_OnAFullDisk_IsOneLineAndLeavesWhatWasThere) {
  const TemporaryFolder folder;
  const SmallDisk disk(folder.path(), 64);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs is not allowed here";
  WriteBytes(folder / "a", "old");
  EXPECT_EQ(WriteFileAtomically(folder / "a", std::string(100'000, 'x')),
            ResourceExhaustedError("write " + (folder / "a") + ": No space left on device"));
  EXPECT_EQ(ReadBytes(folder / "a"), "old");
  EXPECT_THAT(NamesIn(folder.path()), ElementsAre("a"));
}

TEST(AtomicFileTest, Create_WhereNoFileCanBe_NamesTheFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(WriteFileAtomically(folder / "none/a", ""),
            NotFoundError("write " + (folder / "none/a") + ": No such file or directory"));
  WriteBytes(folder / "file", "old");
  EXPECT_THAT(WriteFileAtomically(folder / "file/a", "").message(), HasSubstr("file/a: Not a directory"));
  std::filesystem::create_directory(folder / "sub");
  EXPECT_FALSE(WriteFileAtomically(folder / "sub", "text").ok());
  EXPECT_EQ(NamesIn(folder.path()).size(), 2u);
}

TEST(ReadSmallFileTest, LongerThanTheLimit_IsRefused) {
  const TemporaryFolder folder;
  WriteBytes(folder / "a", "12345");
  EXPECT_EQ(*ReadSmallFile(folder / "a", 5), "12345");
  EXPECT_EQ(ReadSmallFile(folder / "a", 4).status(), InvalidArgumentError(folder / "a" + ": is longer than 4 bytes"));
  EXPECT_EQ(ReadSmallFile(folder.path(), 4).status(), InvalidArgumentError(folder.path() + ": is not a regular file"));
  EXPECT_EQ(ReadSmallFile(folder / "b", 4).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace weft
