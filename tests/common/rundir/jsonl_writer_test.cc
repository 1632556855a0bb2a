#include "common/rundir/jsonl_writer.h"

#include <gtest/gtest.h>

#include "tests/common/temporary_folder.h"

namespace weft {
namespace {

TEST(JsonlWriterTest, Open_FileCutInMidLine_GoesOnBehindItsLastWholeLine) {
  const TemporaryFolder folder;
  {
    auto writer = JsonlWriter::Open(folder / "m.jsonl");
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_EQ(writer->Write(R"({"iteration":1})"), OkStatus());
    ASSERT_EQ(writer->Flush(), OkStatus());
    EXPECT_EQ(ReadBytes(folder / "m.jsonl"), "{\"iteration\":1}\n");
    ASSERT_EQ(writer->Write(R"({"iteration":2})"), OkStatus());
  }
  EXPECT_EQ(ReadBytes(folder / "m.jsonl"), "{\"iteration\":1}\n{\"iteration\":2}\n");
  WriteBytes(folder / "m.jsonl", "{\"iteration\":1}\n{\"itera");
  {
    auto writer = JsonlWriter::Open(folder / "m.jsonl");
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_EQ(writer->Write(R"({"iteration":2})"), OkStatus());
  }
  EXPECT_EQ(ReadBytes(folder / "m.jsonl"), "{\"iteration\":1}\n{\"iteration\":2}\n");
}

}  // namespace
}  // namespace weft
