#include "tests/agent/model/model_testing.h"

#include "agent/model/lenet.h"
#include "agent/model/mlp.h"
#include "agent/model/random.h"
#include "agent/model/resnet.h"
#include "agent/model/transformer.h"

namespace weft {

std::vector<TinyModel> TinyModels() {
  return {
      {"mlp",
       {.dimensions = {1, 3, 4}, .classes = 5, .text = false},
       [] {
         return MakeMlp(12, {9, 7}, 5);
       }},
      {"lenet", {.dimensions = {1, 12, 14}, .classes = 4, .text = false}, [] { return MakeLenet(1, 12, 14, 4); }},
      {"resnet",
       {.dimensions = {2, 7, 8}, .classes = 4, .text = false},
       [] {
         return MakeResnet({.channels = 2, .height = 7, .width = 8, .classes = 4, .first_width = 4, .blocks = 1});
       }},
      {"transformer",
       {.dimensions = {6}, .classes = 256, .text = true},
       [] { return MakeTransformer({.layers = 2, .width = 6, .heads = 2, .context = 5}); }},
  };
}

std::vector<TinyModel> TinyImageModels() {
  std::vector<TinyModel> models = TinyModels();
  std::erase_if(models, [](const TinyModel& tiny) { return tiny.input.text; });
  return models;
}

OwnedBatch RandomBatch(const ModelInput& input, std::int64_t size, std::uint64_t seed) {
  OwnedBatch batch;
  batch.size = size;
  std::int64_t sample = 1;
  for (const std::int64_t d : input.dimensions) sample *= d;
  const CounterRandom random(seed, 0);
  std::uint64_t index = 0;
  const auto below = [&](int bound) {
    return static_cast<int>((random.UniformSigned(index++) + 1.0F) * 0.5F * static_cast<float>(bound));
  };
  if (input.text) {
    for (std::int64_t i = 0; i < size * sample; ++i) batch.tokens.push_back(static_cast<std::uint8_t>(below(256)));
    return batch;
  }
  for (std::int64_t i = 0; i < size * sample; ++i) batch.inputs.push_back(random.UniformSigned(index++));
  for (std::int64_t i = 0; i < size; ++i) batch.labels.push_back(below(input.classes));
  return batch;
}

}  // namespace weft
