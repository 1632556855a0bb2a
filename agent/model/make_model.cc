#include "agent/model/make_model.h"

#include <string>

#include "agent/model/lenet.h"
#include "agent/model/mlp.h"
#include "agent/model/replay.h"
#include "agent/model/resnet.h"
#include "agent/model/transformer.h"

namespace weft {
namespace {

constexpr double kLongestReplayUs = 3.6e9;

// Checks {channels, height, width} and returns their product.
Result<std::int64_t> ImageFloats(const ModelInput& input) {
  if (input.text) return InvalidArgumentError("model: it takes images, the data is text");
  if (input.dimensions.empty()) return InvalidArgumentError("model: the data's samples have no dimensions");
  std::int64_t product = 1;
  for (const std::int64_t d : input.dimensions) {
    if (d < 1) return InvalidArgumentError("model: a sample dimension of " + std::to_string(d) + " is below 1");
    product *= d;
  }
  if (input.classes < 1) {
    return InvalidArgumentError("model: " + std::to_string(input.classes) + " classes are below 1");
  }
  return product;
}

// As above for models that slide kernels over {channels, height, width}, each side at least `smallest`.
Status CheckPlanes(const ModelInput& input, std::int64_t smallest) {
  WEFT_RETURN_IF_ERROR(ImageFloats(input).status());
  if (input.dimensions.size() != 3) {
    return InvalidArgumentError("model: it takes images of channels, height and width, the data's samples have " +
                                std::to_string(input.dimensions.size()) + " dimensions");
  }
  const std::int64_t height = input.dimensions[1];
  const std::int64_t width = input.dimensions[2];
  if (height < smallest || width < smallest) {
    return InvalidArgumentError("model: images of " + std::to_string(height) + "x" + std::to_string(width) +
                                " are below the " + std::to_string(smallest) + "x" + std::to_string(smallest) +
                                " that it needs");
  }
  return OkStatus();
}

Result<std::unique_ptr<Model>> FromLenet(const ModelInput& input) {
  WEFT_RETURN_IF_ERROR(CheckPlanes(input, 12));
  return MakeLenet(input.dimensions[0], input.dimensions[1], input.dimensions[2], input.classes);
}

Result<std::unique_ptr<Model>> FromMlp(const ModelSpec& spec, const ModelInput& input) {
  WEFT_ASSIGN_OR_RETURN(const std::int64_t floats, ImageFloats(input));
  for (const int size : spec.hidden_sizes) {
    if (size < 1) return InvalidArgumentError("model.mlp.hiddenSizes: " + std::to_string(size) + " is below 1");
  }
  return MakeMlp(floats, spec.hidden_sizes, input.classes);
}

Result<std::unique_ptr<Model>> FromResnet(const ModelInput& input) {
  WEFT_RETURN_IF_ERROR(CheckPlanes(input, 4));
  return MakeResnet({.channels = input.dimensions[0],
                     .height = input.dimensions[1],
                     .width = input.dimensions[2],
                     .classes = input.classes});
}

Result<std::unique_ptr<Model>> FromTransformer(const ModelSpec& spec, const ModelInput& input) {
  if (!input.text) return InvalidArgumentError("model: it takes text, the data is images");
  for (const auto& [field, value] :
       {std::pair{"layers", spec.transformer_layers}, std::pair{"width", spec.transformer_width},
        std::pair{"heads", spec.transformer_heads}, std::pair{"context", spec.transformer_context}}) {
    if (value < 1) {
      return InvalidArgumentError(std::string("model.transformer.") + field + ": " + std::to_string(value) +
                                  " is below 1");
    }
  }
  if (spec.transformer_width % spec.transformer_heads != 0) {
    return InvalidArgumentError("model.transformer.width: " + std::to_string(spec.transformer_width) +
                                " is not a multiple of " + std::to_string(spec.transformer_heads) + " heads");
  }
  if (input.dimensions != std::vector<std::int64_t>{spec.transformer_context + 1}) {
    return InvalidArgumentError("model.transformer.context: " + std::to_string(spec.transformer_context) +
                                " is not the length of the data's samples");
  }
  return MakeTransformer({.layers = spec.transformer_layers,
                          .width = spec.transformer_width,
                          .heads = spec.transformer_heads,
                          .context = spec.transformer_context});
}

Result<std::unique_ptr<Model>> FromReplay(const ReplayInput& replay) {
  const Timeline& timeline = replay.timeline;
  if (timeline.layers.empty()) return InvalidArgumentError("model.replay.timeline: it has no layers");
  for (const LayerTiming& layer : timeline.layers) {
    const std::string place = "model.replay.timeline: layer " + layer.name + ": ";
    if (layer.bytes < 0 || layer.bytes % static_cast<std::int64_t>(sizeof(float)) != 0) {
      return InvalidArgumentError(place + "bytes: " + std::to_string(layer.bytes) + " are not a number of float32");
    }
    for (const double us : {layer.forward_us, layer.backward_us, layer.backward_start_us}) {
      if (!(us >= 0) || us > kLongestReplayUs) {
        return InvalidArgumentError(place + "a time of " + std::to_string(us) + " us is outside 0 to one hour");
      }
    }
  }
  if (!(timeline.end_us >= 0) || timeline.end_us > kLongestReplayUs) {
    return InvalidArgumentError("model.replay.timeline: an end at " + std::to_string(timeline.end_us) +
                                " us is outside 0 to one hour");
  }
  return MakeReplay(timeline, *replay.clock);
}

}  // namespace

Result<std::unique_ptr<Model>> MakeModel(const ModelSpec& spec, const ModelInput& input, const ReplayInput& replay) {
  switch (spec.name) {
    case ModelType::kMlp:
      return FromMlp(spec, input);
    case ModelType::kLenet:
      return FromLenet(input);
    case ModelType::kResnet20:
      return FromResnet(input);
    case ModelType::kReplay:
      return FromReplay(replay);
    case ModelType::kTransformer:
      return FromTransformer(spec, input);
  }
  return InvalidArgumentError("model.name: " + std::to_string(static_cast<int>(spec.name)) + " is none of the models");
}

}  // namespace weft
