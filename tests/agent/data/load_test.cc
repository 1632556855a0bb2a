#include "agent/data/load.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(LoadDatasetTest, Synthetic_HasSizesAndNoContent) {
  DataSpec spec;
  spec.format = DataFormat::kSynthetic;
  spec.synthetic_samples = 7;
  const auto data = LoadDataset(spec, 0);
  ASSERT_TRUE(data.ok());
  EXPECT_EQ((*data)->size(Split::kTrain), 7);
  EXPECT_EQ((*data)->size(Split::kTest), 0);
  EXPECT_EQ((*data)->shape().size(), 0);
  Samples samples;
  const std::vector<std::int64_t> indices{6, 2};
  (*data)->Gather(Split::kTrain, indices, samples);
  EXPECT_EQ(samples.size, 2);
  EXPECT_TRUE(samples.inputs.empty() && samples.labels.empty() && samples.tokens.empty());
}

TEST(LoadDatasetTest, SyntheticWithoutSamples_IsRefused) {
  DataSpec spec;
  spec.format = DataFormat::kSynthetic;
  spec.synthetic_samples = 0;
  EXPECT_EQ(LoadDataset(spec, 0).status(), InvalidArgumentError("data.synthetic.samples: 0 is below 1"));
}

}  // namespace
}  // namespace weft
