#include <gtest/gtest.h>

#include <filesystem>

#include "agent/data/load.h"
#include "tests/agent/data/test_files.h"

namespace weft {
namespace {

DataSpec Text(const std::string& path) {
  DataSpec spec;
  spec.format = DataFormat::kText;
  spec.path = path;
  return spec;
}

std::string TokensOf(const Dataset& data, Split split, std::vector<std::int64_t> indices) {
  Samples samples;
  data.Gather(split, indices, samples);
  EXPECT_EQ(samples.size, std::ssize(indices));
  return {samples.tokens.begin(), samples.tokens.end()};
}

TEST(TextTest, Load_OneFile_CutsWindowsThatShareOneByte) {
  const TemporaryFolder folder;
  WriteBytes(folder / "book.txt", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX");  // 45 + 5 bytes
  const auto data = LoadDataset(Text(folder / "book.txt"), 4);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->shape().dimensions, (std::vector<std::int64_t>{5}));
  EXPECT_EQ((*data)->shape().classes, 256);
  EXPECT_TRUE((*data)->shape().text);
  EXPECT_EQ((*data)->size(Split::kTrain), 11);
  EXPECT_EQ((*data)->size(Split::kTest), 1);
  EXPECT_EQ(TokensOf(**data, Split::kTrain, {1, 0, 10}),
            "efghi"
            "abcde"
            "OPQRS");
  EXPECT_EQ(TokensOf(**data, Split::kTest, {0}), "TUVWX");
}

TEST(TextTest, Load_Folder_JoinsItsFilesByName) {
  const TemporaryFolder folder;
  WriteBytes(folder / "2.txt", "klmnopqrst");
  WriteBytes(folder / "1.txt.gz", Gzip("abcdefghij"));
  std::filesystem::create_directory(folder / "notes");
  const auto data = LoadDataset(Text(folder.path()), 1);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->size(Split::kTrain), 17);
  EXPECT_EQ(TokensOf(**data, Split::kTrain, {0, 9}), "abjk");
  EXPECT_EQ(TokensOf(**data, Split::kTest, {0}), "st");
}

TEST(TextTest, Load_WhatCannotBeCut_IsRefused) {
  const TemporaryFolder folder;
  EXPECT_EQ(LoadDataset(Text(folder.path()), 4).status(),
            InvalidArgumentError(folder.path() + ": has no files: at least 1 is needed"));
  EXPECT_EQ(LoadDataset(Text(folder / "none"), 4).status(),
            InvalidArgumentError(folder / "none" + ": No such file or directory"));
  WriteBytes(folder / "short", std::string(49, 'a'));
  EXPECT_EQ(LoadDataset(Text(folder / "short"), 4).status(),
            InvalidArgumentError(folder / "short" + ": 49 bytes are below 50, so the last tenth holds no sample of 5"));
  EXPECT_EQ(LoadDataset(Text(folder / "short"), 0).status(), InvalidArgumentError("context 0 is below 1"));
}

}  // namespace
}  // namespace weft
