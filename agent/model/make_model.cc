#include "agent/model/make_model.h"

#include <string>

#include "agent/model/lenet.h"
#include "agent/model/mlp.h"

namespace weft {
namespace {

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

}  // namespace

Result<std::unique_ptr<Model>> MakeModel(const ModelSpec& spec, const ModelInput& input, const ReplayInput& replay) {
  switch (spec.name) {
    case ModelType::kMlp:
      return FromMlp(spec, input);
    case ModelType::kLenet:
      return FromLenet(input);
    default:
      break;
  }
  static_cast<void>(replay);
  return UnimplementedError("model.name: this model is not in this build");
}

}  // namespace weft
