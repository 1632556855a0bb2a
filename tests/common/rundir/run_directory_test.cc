#include "common/rundir/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/common/temporary_folder.h"

namespace weft {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

constexpr std::chrono::system_clock::time_point kNow{seconds(1'769'853'600)};  // 2026-01-31T10:00:00Z

TEST(RunDirectoryTest, Create_SameSecond_NumbersTheSecond) {
  const TemporaryFolder folder;
  const auto first = RunDirectory::Create(folder / "a/runs", "fashion", kNow);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->path(), folder / "a/runs/fashion-20260131T100000Z");
  EXPECT_TRUE(std::filesystem::is_directory(first->checkpoints()));
  EXPECT_EQ(RunDirectory::Create(folder / "a/runs", "fashion", kNow)->path(), first->path() + "-2");
  EXPECT_EQ(RunDirectory::Create(folder / "a/runs", "fashion", kNow)->path(), first->path() + "-3");
}

TEST(RunDirectoryTest, Create_WhereNoFolderCanBe_NamesIt) {
  const TemporaryFolder folder;
  WriteBytes(folder / "file", "");
  for (const std::string& path : {folder / "file", folder / "file/runs"}) {
    const auto run = RunDirectory::Create(path, "fashion", kNow);
    ASSERT_FALSE(run.ok());
    EXPECT_EQ(run.status().message(), "make " + path + ": Not a directory");
  }
}

TEST(RunDirectoryTest, CreateAt_AnotherRunsFolder_IsRefusedAndUntouched) {
  const TemporaryFolder folder;
  const auto first = RunDirectory::CreateAt(folder / "out");
  ASSERT_TRUE(first.ok()) << first.status();
  WriteBytes(first->metrics(), "{}\n");
  EXPECT_EQ(
      RunDirectory::CreateAt(folder / "out").status(),
      InvalidArgumentError(folder / "out" + ": holds a run already (metrics.jsonl): resume it or name another folder"));
  EXPECT_EQ(ReadBytes(first->metrics()), "{}\n");
}

TEST(RunDirectoryTest, CreateAt_FolderWithOtherFiles_IsTaken) {
  const TemporaryFolder folder;
  WriteBytes(folder / "notes.txt", "");
  EXPECT_TRUE(RunDirectory::CreateAt(folder.path()).ok());
}

TEST(RunDirectoryTest, Discard_LeavesTheFolderFreeAndOthersFilesAlone) {
  const TemporaryFolder folder;
  const auto run = RunDirectory::CreateAt(folder / "out");
  ASSERT_TRUE(run.ok()) << run.status();
  WriteBytes(run->job(), "job");
  std::filesystem::create_directory(run->logs());
  WriteBytes(run->logs() + "/ranks.log", "");
  run->Discard();
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));

  std::filesystem::create_directories(folder / "out/logs");
  WriteBytes(folder / "out/logs/mine.log", "mine");
  ASSERT_TRUE(RunDirectory::CreateAt(folder / "out").ok());
  run->Discard();
  EXPECT_EQ(ReadBytes(folder / "out/logs/mine.log"), "mine");
  EXPECT_TRUE(RunDirectory::CreateAt(folder / "out").ok());
}

TEST(RunDirectoryTest, Lock_IsOneRunsUntilItEnds) {
  const TemporaryFolder folder;
  const auto run = RunDirectory::CreateAt(folder / "out");
  ASSERT_TRUE(run.ok()) << run.status();
  {
    const auto lock = run->Lock();
    ASSERT_TRUE(lock.ok()) << lock.status();
    EXPECT_EQ(run->Lock().status(), InvalidArgumentError(folder / "out" + ": a run goes on in it"));
  }
  EXPECT_TRUE(run->Lock().ok());
}

TEST(RunDirectoryTest, Open_NeedsARun) {
  const TemporaryFolder folder;
  EXPECT_THAT(RunDirectory::Open(folder / "none").status().message(), HasSubstr("none: No such file or directory"));
  EXPECT_EQ(RunDirectory::Open(folder.path()).status(),
            InvalidArgumentError(folder.path() + ": holds no run: it has no job.yaml"));
  WriteBytes(folder / "job.yaml", "");
  EXPECT_TRUE(RunDirectory::Open(folder.path()).ok());
}

}  // namespace
}  // namespace weft
