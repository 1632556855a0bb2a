#include "common/rundir/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "common/rundir/digest.h"
#include "tests/common/rundir/full_disk.h"
#include "tests/common/temporary_folder.h"

namespace weft {
namespace {

using testing::HasSubstr;

// A file of this header and so many bytes of data.
std::string File(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + std::string(data_bytes, '\0');
}

Status OpenBytes(const TemporaryFolder& folder, const std::string& bytes) {
  WriteBytes(folder / "t", bytes);
  return SafetensorsReader::Open(folder / "t").status();
}

TEST(SafetensorsTest, Write_ThenRead_GivesTheSameTensors) {
  const TemporaryFolder folder;
  const std::vector<float> weights{1, -2, 3.5f, 0, 1e-30f, 7}, bias{4};
  const std::vector<TensorView> tensors{{"fc.weight", {2, 3}, weights}, {"fc.bias", {}, bias}, {"empty", {0, 4}, {}}};
  const auto written = WriteSafetensors(folder / "m", tensors, {{"model", "mlp"}, {"iteration", "7"}});
  ASSERT_TRUE(written.ok()) << written.status();
  const std::string bytes = ReadBytes(folder / "m");
  EXPECT_EQ(written->bytes, std::ssize(bytes));
  EXPECT_EQ(written->sha256, Sha256Of(std::as_bytes(std::span(bytes))));

  auto reader = SafetensorsReader::Open(folder / "m");
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(reader->tensors().size(), 3u);
  EXPECT_EQ(reader->Find("fc.weight")->shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_TRUE(reader->Find("fc.bias")->shape.empty());
  EXPECT_EQ(reader->Find("fc.bias")->count, 1);
  EXPECT_EQ(reader->Find("none"), nullptr);
  EXPECT_EQ(reader->metadata().at("iteration"), "7");
  EXPECT_EQ(reader->Digest()->sha256, written->sha256);
  std::vector<float> read(6), scalar(1);
  ASSERT_EQ(reader->Read("fc.weight", read), OkStatus());
  EXPECT_EQ(read, weights);
  ASSERT_EQ(reader->Read("fc.bias", scalar), OkStatus());
  EXPECT_EQ(scalar, bias);
}

TEST(SafetensorsTest, Write_IsTheDocumentedBytes) {
  const TemporaryFolder folder;
  const std::vector<float> values{1, 2};
  const std::vector<TensorView> tensors{{"w", {2}, values}};
  ASSERT_TRUE(WriteSafetensors(folder / "m", tensors, {}).ok());
  const std::string bytes = ReadBytes(folder / "m");
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x38\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(8, 56), R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  )");
  EXPECT_EQ(bytes.substr(64), std::string("\0\0\x80\x3f\0\0\0\x40", 8));
}

TEST(SafetensorsTest, Write_WhatIsNoFile_IsRefused) {
  const TemporaryFolder folder;
  const std::vector<float> values{1, 2};
  const auto write = [&](std::vector<TensorView> tensors) {
    return WriteSafetensors(folder / "m", tensors, {}).status().message();
  };
  EXPECT_EQ(write({{"w", {3}, values}}), folder / "m" + ": tensor w: 2 values do not fit its shape");
  EXPECT_EQ(write({{"w", {2}, values}, {"w", {2}, values}}), folder / "m" + ": tensor name w is taken");
  EXPECT_EQ(write({{"__metadata__", {2}, values}}), folder / "m" + ": tensor name __metadata__ is taken");
}

TEST(SafetensorsTest, Write_PastTheRoomThereIs_LeavesWhatWasThere) {
  const TemporaryFolder folder;
  const std::vector<float> values(5000);
  const std::vector<TensorView> small{{"w", {2}, std::span(values).first(2)}}, large{{"w", {5000}, values}};
  ASSERT_TRUE(WriteSafetensors(folder / "m", small, {}).ok());
  const std::string before = ReadBytes(folder / "m");
  {
    const FileSizeLimit limit(4096);
    EXPECT_EQ(WriteSafetensors(folder / "m", large, {}).status().code(), StatusCode::kResourceExhausted);
  }
  EXPECT_EQ(ReadBytes(folder / "m"), before);
}

TEST(SafetensorsTest, Open_CutAtAnyByteOrLonger_IsRefusedByName) {
  const TemporaryFolder folder;
  const std::vector<float> values{1, 2, 3};
  const std::vector<TensorView> tensors{{"a", {2}, std::span(values).first(2)}, {"b", {3}, values}};
  ASSERT_TRUE(WriteSafetensors(folder / "m", tensors, {{"k", "v"}}).ok());
  const std::string whole = ReadBytes(folder / "m");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Status status = OpenBytes(folder, whole.substr(0, size));
    ASSERT_EQ(status.code(), StatusCode::kInvalidArgument) << size;
    EXPECT_THAT(status.message(), HasSubstr(folder / "t" + ": "));
  }
  EXPECT_THAT(OpenBytes(folder, whole + '\0').message(), HasSubstr("bytes, but its header says"));
  EXPECT_EQ(OpenBytes(folder, whole), OkStatus());
}

TEST(SafetensorsTest, Open_ForeignFile_IsRefused) {
  const TemporaryFolder folder;
  EXPECT_THAT(OpenBytes(folder, "hello").message(), HasSubstr("5 bytes are no safetensors file"));
  EXPECT_THAT(OpenBytes(folder, "PK\x03\x04 a zip file, say").message(), HasSubstr("no safetensors file"));
  EXPECT_THAT(OpenBytes(folder, File("[1,2]", 0)).message(), HasSubstr("no JSON object"));
  EXPECT_THAT(OpenBytes(folder, File("{\"a\":", 0)).message(), HasSubstr("no JSON object"));
  EXPECT_THAT(SafetensorsReader::Open(folder.path()).status().message(), HasSubstr("not a regular file"));
  EXPECT_EQ(SafetensorsReader::Open(folder / "none").status().code(), StatusCode::kNotFound);
}

TEST(SafetensorsTest, Open_HeaderThatLies_IsRefused) {
  const TemporaryFolder folder;
  const auto open = [&](const std::string& header, std::size_t data) {
    return OpenBytes(folder, File(header, data)).message();
  };
  const std::string a = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_EQ(open("{" + a + "}", 4), "");
  EXPECT_THAT(open("{" + a + "," + a + "}", 4), HasSubstr("two tensors of one name"));
  EXPECT_THAT(open("{" + a + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})", 12),
              HasSubstr("tensor b begins at 8, not at 4"));
  EXPECT_THAT(open("{" + a + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})", 6),
              HasSubstr("tensor b begins at 2, not at 4"));
  EXPECT_THAT(open(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4), HasSubstr("do not fit its shape"));
  EXPECT_THAT(open(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4), HasSubstr("do not fit its shape"));
  EXPECT_THAT(open(R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}})", 4),
              HasSubstr("dtype \"F16\" is not F32, F64 or I64"));
  EXPECT_THAT(open(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4), HasSubstr("not a list of sizes"));
  EXPECT_THAT(open(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0),
              HasSubstr("do not fit its shape"));
  EXPECT_THAT(open(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551615]}})", 4),
              HasSubstr("not two numbers"));
  EXPECT_THAT(open(R"({"a":{"dtype":"F32","shape":[1]}})", 4), HasSubstr("is not {dtype, shape, data_offsets}"));
  EXPECT_THAT(open(R"({"a":3})", 4), HasSubstr("is not {dtype, shape, data_offsets}"));
  EXPECT_THAT(open(R"({"__metadata__":{"k":1}})", 0), HasSubstr("__metadata__.k is no string"));
  std::string huge = File("{}", 0);
  huge[6] = 1;
  EXPECT_THAT(OpenBytes(folder, huge).message(), HasSubstr("does not fit a file of 10"));
}

TEST(SafetensorsTest, Read_OtherTypes_ConvertsDoublesAndRefusesIntegers) {
  const TemporaryFolder folder;
  std::string bytes = File(R"({"d":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},)"
                           R"("i":{"dtype":"I64","shape":[1],"data_offsets":[8,16]}})",
                           0);
  const double value = 0.1;
  bytes.append(reinterpret_cast<const char*>(&value), 8).append(8, '\0');
  WriteBytes(folder / "t", bytes);
  const auto reader = SafetensorsReader::Open(folder / "t");
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::vector<float> out(1), two(2);
  ASSERT_EQ(reader->Read("d", out), OkStatus());
  EXPECT_EQ(out[0], 0.1f);
  EXPECT_EQ(reader->Read("i", out), InvalidArgumentError(folder / "t" + ": tensor i is I64, not F32 or F64"));
  EXPECT_EQ(reader->Read("d", two), InvalidArgumentError(folder / "t" + ": tensor d has 1 values, not 2"));
  EXPECT_EQ(reader->Read("x", out), InvalidArgumentError(folder / "t" + ": has no tensor x"));
}

}  // namespace
}  // namespace weft
