#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <map>

#include "agent/data/load.h"
#include "tests/agent/data/test_files.h"

namespace weft {
namespace {

using testing::HasSubstr;

const char kTrainImages[] = "train-images-idx3-ubyte";
const char kTrainLabels[] = "train-labels-idx1-ubyte";
const char kTestImages[] = "t10k-images-idx3-ubyte";
const char kTestLabels[] = "t10k-labels-idx1-ubyte";

// Three training and two test images of 2 x 3, one test of which changes a file.
class IdxTest : public testing::Test {
 protected:
  IdxTest() {
    files_[kTrainImages] =
        Idx({3, 2, 3}, std::string("\x00\x01\x02\x03\x04\x05\x0a\x0b\x0c\x0d\x0e\x0f\xfa\xfb\xfc\xfd\xfe\xff", 18));
    files_[kTrainLabels] = Idx({3}, std::string("\x07\x00\x09", 3));
    files_[kTestImages] = Idx({2, 2, 3}, "abcdefghijkl");
    files_[kTestLabels] = Idx({2}, std::string("\x01\x02", 2));
  }

  Result<std::unique_ptr<Dataset>> Load() {
    for (const auto& [name, bytes] : files_) WriteBytes(folder_ / name, bytes);
    DataSpec spec;
    spec.format = DataFormat::kIDX;
    spec.path = folder_.path();
    return LoadDataset(spec, 0);
  }

  void ExpectRefused(const std::string& message) {
    const auto loaded = Load();
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.status(), InvalidArgumentError(folder_.path() + "/" + message));
  }

  const TemporaryFolder folder_;
  std::map<std::string, std::string> files_;
};

TEST_F(IdxTest, Load_SmallFiles_GathersNormalizedImagesAndLabels) {
  const auto data = Load();
  ASSERT_TRUE(data.ok()) << data.status();
  const Dataset& set = **data;
  EXPECT_EQ(set.shape().dimensions, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(set.shape().classes, 10);
  EXPECT_FALSE(set.shape().text);
  EXPECT_EQ(set.size(Split::kTrain), 3);
  EXPECT_EQ(set.size(Split::kTest), 2);

  Samples samples;
  const std::vector<std::int64_t> all{2, 0, 1};
  set.Gather(Split::kTrain, all, samples);
  EXPECT_EQ(samples.size, 3);
  EXPECT_EQ(samples.labels, (std::vector<std::int32_t>{9, 7, 0}));
  ASSERT_EQ(samples.inputs.size(), 18u);
  double sum = 0, squares = 0;
  for (const float v : samples.inputs) {
    sum += v;
    squares += v * v;
  }
  EXPECT_NEAR(sum / 18, 0, 1e-6);
  EXPECT_NEAR(squares / 18, 1, 1e-6);
  const double deviation = 255.0 / (samples.inputs[5] - samples.inputs[6]);  // bytes 255 and 0
  EXPECT_NEAR((samples.inputs[11] - samples.inputs[6]) * deviation, 5, 1e-4);

  // The test split is normalized with the training split's numbers.
  const std::vector<std::int64_t> second{1};
  set.Gather(Split::kTest, second, samples);
  EXPECT_EQ(samples.size, 1);
  EXPECT_EQ(samples.labels, (std::vector<std::int32_t>{2}));
  EXPECT_EQ(samples.inputs.size(), 6u);
  const std::vector<std::int64_t> none;
  set.Gather(Split::kTest, none, samples);
  EXPECT_EQ(samples.size, 0);
  EXPECT_TRUE(samples.inputs.empty());
}

TEST_F(IdxTest, Load_OneValueOnly_IsFinite) {
  files_[kTrainImages] = Idx({3, 2, 3}, std::string(18, '\x40'));
  const auto data = Load();
  ASSERT_TRUE(data.ok());
  Samples samples;
  const std::vector<std::int64_t> first{0};
  (*data)->Gather(Split::kTrain, first, samples);
  for (const float v : samples.inputs) EXPECT_EQ(v, 0.0f);
}

TEST_F(IdxTest, Load_GzipFiles_AreTheSame) {
  for (const char* name : {kTrainImages, kTestLabels}) {
    const auto file = files_.extract(name);
    WriteBytes(folder_ / (std::string(name) + ".gz"), Gzip(file.mapped()));
  }
  const auto data = Load();
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->size(Split::kTrain), 3);
}

TEST_F(IdxTest, Load_AnyFileCutAtAnyByte_IsRefusedByName) {
  for (const auto& [name, whole] : std::map(files_)) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      files_[name] = whole.substr(0, size);
      const auto data = Load();
      ASSERT_FALSE(data.ok()) << name << " cut at " << size;
      EXPECT_EQ(data.status().code(), StatusCode::kInvalidArgument);
      EXPECT_THAT(data.status().message(), HasSubstr(name + ": ends at byte " + std::to_string(size)));
    }
    files_[name] = whole;
  }
}

TEST_F(IdxTest, Load_BytesAfterTheEnd_AreRefused) {
  files_[kTestLabels] += '\0';
  ExpectRefused("t10k-labels-idx1-ubyte: goes on after byte 10, where its header says it ends");
}

TEST_F(IdxTest, Load_ForeignMagic_IsRefused) {
  files_[kTrainImages][2] = 0x0d;
  ExpectRefused("train-images-idx3-ubyte: magic 0x00000d03 is not 0x00000803, IDX of unsigned bytes with 3 dimensions");
}

TEST_F(IdxTest, Load_LabelsInPlaceOfImages_AreRefused) {
  files_[kTrainImages] = files_[kTrainLabels];
  ExpectRefused("train-images-idx3-ubyte: magic 0x00000801 is not 0x00000803, IDX of unsigned bytes with 3 dimensions");
}

TEST_F(IdxTest, Load_OtherNumberOfLabels_IsRefused) {
  files_[kTrainLabels] = Idx({2}, std::string("\x07\x00", 2));
  ExpectRefused("train-labels-idx1-ubyte: 2 labels, but " + folder_.path() + "/train-images-idx3-ubyte has 3 images");
}

TEST_F(IdxTest, Load_LabelOutOfRange_IsRefused) {
  files_[kTestLabels] = Idx({2}, std::string("\x01\x0a", 2));
  ExpectRefused("t10k-labels-idx1-ubyte: label 10 of image 1 is above 9");
}

TEST_F(IdxTest, Load_TestImagesOfAnotherSize_AreRefused) {
  files_[kTestImages] = Idx({2, 3, 2}, "abcdefghijkl");
  ExpectRefused("t10k-images-idx3-ubyte: images of 3x2, but " + folder_.path() + "/train-images-idx3-ubyte has 2x3");
}

TEST_F(IdxTest, Load_NoImages_IsRefused) {
  files_[kTrainImages] = Idx({0, 2, 3}, "");
  files_[kTrainLabels] = Idx({0}, "");
  ExpectRefused("train-images-idx3-ubyte: 0 images: at least 1 is needed");
}

TEST_F(IdxTest, Load_ImagesWithoutPixels_AreRefused) {
  files_[kTrainImages] = Idx({3, 0, 3}, "");
  ExpectRefused("train-images-idx3-ubyte: images of 0x3: each side must be from 1 to 16384");
}

TEST_F(IdxTest, Load_HeaderThatAsksForTooMuch_IsRefused) {
  const auto most = std::numeric_limits<std::uint32_t>::max();
  files_[kTrainImages] = Idx({most, 28, 28}, "");
  ExpectRefused("train-images-idx3-ubyte: 4294967295 images of 28x28 are above the limit of 8589934592 bytes");
}

TEST_F(IdxTest, Load_MissingFile_NamesTheFolderAndTheFile) {
  files_.erase(kTestLabels);
  const auto data = Load();
  EXPECT_EQ(data.status(), InvalidArgumentError(folder_.path() +
                                                ": has neither t10k-labels-idx1-ubyte nor t10k-labels-idx1-ubyte.gz"));
}

TEST(FashionMnistTest, Load_DebiansFiles_HaveTheKnownCountsAndLabels) {
  DataSpec spec;
  spec.path = "/usr/share/datasets/fashion-mnist";
  if (!std::filesystem::exists(spec.path)) GTEST_SKIP() << "dataset-fashion-mnist is not installed";
  const auto data = LoadDataset(spec, 0);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->size(Split::kTrain), 60000);
  EXPECT_EQ((*data)->size(Split::kTest), 10000);
  std::vector<int> counts(10);
  for (const std::uint8_t label : (*data)->labels(Split::kTrain)) ++counts[label];
  EXPECT_EQ(counts, std::vector<int>(10, 6000));
  Samples samples;
  const std::vector<std::int64_t> first{0};
  (*data)->Gather(Split::kTrain, first, samples);
  EXPECT_EQ(samples.labels[0], 9);
  // Published mean and deviation of the pixels: 0.2860 and 0.3530.
  EXPECT_NEAR(samples.inputs[0], -0.2860 / 0.3530, 1e-3);
}

}  // namespace
}  // namespace weft
