#include "agent/model/make_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using ::testing::HasSubstr;

const ModelInput kGrey{.dimensions = {1, 28, 28}, .classes = 10, .text = false};
const ModelInput kColour{.dimensions = {3, 32, 32}, .classes = 10, .text = false};
const ModelInput kText{.dimensions = {129}, .classes = 256, .text = true};

ModelSpec Named(ModelType name) {
  ModelSpec spec;
  spec.name = name;
  return spec;
}

std::string Refusal(const ModelSpec& spec, const ModelInput& input) {
  const Status status = MakeModel(spec, input).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  return status.message();
}

TEST(MakeModel, EachModel_OnItsData_HasItsLayers) {
  const auto layers = [](ModelType name, const ModelInput& input) {
    return MakeModel(Named(name), input).value()->layers().size();
  };
  EXPECT_EQ(layers(ModelType::kMlp, kGrey), 3U);
  EXPECT_EQ(layers(ModelType::kLenet, kGrey), 5U);
  EXPECT_EQ(layers(ModelType::kLenet, kColour), 5U);
  EXPECT_EQ(layers(ModelType::kResnet20, kColour), 20U);
  EXPECT_EQ(layers(ModelType::kResnet20, kGrey), 20U);
  EXPECT_EQ(layers(ModelType::kTransformer, kText), 11U);
}

TEST(MakeModel, Data_OfAnotherKind_IsRefused) {
  EXPECT_THAT(Refusal(Named(ModelType::kLenet), kText), HasSubstr("takes images"));
  EXPECT_THAT(Refusal(Named(ModelType::kMlp), kText), HasSubstr("takes images"));
  EXPECT_THAT(Refusal(Named(ModelType::kTransformer), kGrey), HasSubstr("takes text"));
}

TEST(MakeModel, Images_TooSmallOrFlat_AreRefusedWithTheLimit) {
  EXPECT_THAT(Refusal(Named(ModelType::kLenet), {.dimensions = {1, 11, 28}, .classes = 10, .text = false}),
              HasSubstr("11x28 are below the 12x12"));
  EXPECT_THAT(Refusal(Named(ModelType::kResnet20), {.dimensions = {784}, .classes = 10, .text = false}),
              HasSubstr("1 dimensions"));
  EXPECT_THAT(Refusal(Named(ModelType::kMlp), {.dimensions = {1, 0, 28}, .classes = 10, .text = false}),
              HasSubstr("dimension of 0"));
  EXPECT_THAT(Refusal(Named(ModelType::kMlp), {.dimensions = {}, .classes = 10, .text = false}),
              HasSubstr("no dimensions"));
  EXPECT_THAT(Refusal(Named(ModelType::kMlp), {.dimensions = {4}, .classes = 0, .text = false}),
              HasSubstr("0 classes"));
}

TEST(MakeModel, Sizes_BelowOneOrUneven_AreRefusedByField) {
  ModelSpec spec = Named(ModelType::kMlp);
  spec.hidden_sizes = {8, 0};
  EXPECT_THAT(Refusal(spec, kGrey), HasSubstr("model.mlp.hiddenSizes: 0"));
  spec = Named(ModelType::kTransformer);
  spec.transformer_layers = 0;
  EXPECT_THAT(Refusal(spec, kText), HasSubstr("model.transformer.layers: 0"));
  spec = Named(ModelType::kTransformer);
  spec.transformer_heads = 3;
  EXPECT_THAT(Refusal(spec, kText), HasSubstr("not a multiple of 3 heads"));
  spec = Named(ModelType::kTransformer);
  spec.transformer_context = 64;
  EXPECT_THAT(Refusal(spec, kText), HasSubstr("model.transformer.context: 64"));
}

}  // namespace
}  // namespace weft
