#include "common/rundir/append_file.h"

#include <gtest/gtest.h>

#include "tests/common/rundir/full_disk.h"
#include "tests/common/temporary_folder.h"

namespace weft {
namespace {

TEST(AppendFileTest, Flush_PastTheRoomThereIs_CutsBackAndGoesOnLater) {
  const TemporaryFolder folder;
  const auto file = AppendFile::Open(folder / "a", "\n");
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ((*file)->Append("first\n"), OkStatus());
  ASSERT_EQ((*file)->Flush(), OkStatus());
  {
    const FileSizeLimit limit(100);
    ASSERT_EQ((*file)->Append(std::string(500, 'x') + "\n"), OkStatus());
    EXPECT_EQ((*file)->Flush(), ResourceExhaustedError("write " + (folder / "a") + ": No space left on device"));
  }
  EXPECT_EQ(ReadBytes(folder / "a"), "first\n");
  ASSERT_EQ((*file)->Append("second\n"), OkStatus());
  ASSERT_EQ((*file)->Flush(), OkStatus());
  EXPECT_EQ(ReadBytes(folder / "a"), "first\nsecond\n");
}

TEST(AppendFileTest, Open_TornFileOfAnyLength_CutsBackToTheLastMark) {
  const TemporaryFolder folder;
  for (const std::size_t torn : {0u, 1u, 65'535u, 65'536u, 65'537u, 200'000u}) {
    WriteBytes(folder / "a", "one,\ntwo,\n" + std::string(torn, ','));
    const auto file = AppendFile::Open(folder / "a", ",\n");
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ((*file)->size(), 10);
    EXPECT_EQ(ReadBytes(folder / "a"), "one,\ntwo,\n") << torn;
    WriteBytes(folder / "b", std::string(torn, ','));
    EXPECT_EQ((*AppendFile::Open(folder / "b", ",\n"))->size(), 0) << torn;
  }
}

TEST(AppendFileTest, Open_WhereNoFileCanBe_NamesIt) {
  const TemporaryFolder folder;
  EXPECT_EQ(AppendFile::Open(folder / "none/a", "\n").status(),
            NotFoundError("write " + (folder / "none/a") + ": No such file or directory"));
}

}  // namespace
}  // namespace weft
