#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "agent/data/load.h"
#include "tests/agent/data/test_files.h"

namespace weft {
namespace {

using testing::HasSubstr;

std::string Record(char label, char red, char green, char blue) {
  return std::string(1, label) + std::string(1024, red) + std::string(1024, green) + std::string(1024, blue);
}

class CifarTest : public testing::Test {
 protected:
  CifarTest() {
    for (int batch = 1; batch <= 5; ++batch) {
      const char n = static_cast<char>(batch);
      files_["data_batch_" + std::to_string(batch) + ".bin"] = Record(n, n, static_cast<char>(10 * n), 7);
    }
    files_["test_batch.bin"] = Record(0, 1, 2, 3) + Record(9, 4, 5, 6);
  }
  Result<std::unique_ptr<Dataset>> Load() {
    for (const auto& [name, bytes] : files_) WriteBytes(folder_ / name, bytes);
    DataSpec spec;
    spec.format = DataFormat::kCIFAR10;
    spec.path = folder_.path();
    return LoadDataset(spec, 0);
  }
  const TemporaryFolder folder_;
  std::map<std::string, std::string> files_;
};

TEST_F(CifarTest, Load_SmallBatches_NormalizesEachChannel) {
  const std::string third = files_.extract("data_batch_3.bin").mapped();
  WriteBytes(folder_ / "data_batch_3.bin.gz", Gzip(third));
  const auto data = Load();
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->shape().dimensions, (std::vector<std::int64_t>{3, 32, 32}));
  EXPECT_EQ((*data)->size(Split::kTrain), 5);
  EXPECT_EQ((*data)->size(Split::kTest), 2);
  Samples samples;
  const std::vector<std::int64_t> indices{4, 2};
  (*data)->Gather(Split::kTrain, indices, samples);
  EXPECT_EQ(samples.labels, (std::vector<std::int32_t>{5, 3}));
  // Red and green are 1..5 and 10..50: both have mean 3 (30) and deviation sqrt(2) (of 1, 10). Blue has one value.
  EXPECT_NEAR(samples.inputs[0], 2 / std::sqrt(2.0), 1e-6);
  EXPECT_NEAR(samples.inputs[1024], 2 / std::sqrt(2.0), 1e-6);
  EXPECT_EQ(samples.inputs[2048], 0.0f);
  EXPECT_NEAR(samples.inputs[3072], 0, 1e-6);
}

TEST_F(CifarTest, Load_TornRecord_IsRefused) {
  files_["data_batch_2.bin"].resize(3000);
  EXPECT_EQ(Load().status(),
            InvalidArgumentError(folder_ / "data_batch_2.bin" + ": 3000 bytes are no whole number of records of 3073"));
}

TEST_F(CifarTest, Load_LabelOutOfRange_IsRefused) {
  files_["test_batch.bin"][3073] = 10;
  EXPECT_EQ(Load().status(), InvalidArgumentError(folder_ / "test_batch.bin" + ": label 10 of image 1 is above 9"));
}

TEST_F(CifarTest, Load_EmptyOrMissingBatch_IsRefused) {
  files_["data_batch_5.bin"].clear();
  EXPECT_EQ(Load().status(), InvalidArgumentError(folder_ / "data_batch_5.bin" + ": 0 images: at least 1 is needed"));
  const TemporaryFolder empty;
  DataSpec spec;
  spec.format = DataFormat::kCIFAR10;
  spec.path = empty.path();
  EXPECT_THAT(LoadDataset(spec, 0).status().message(), HasSubstr(empty.path() + ": has neither data_batch_1.bin nor"));
}

}  // namespace
}  // namespace weft
