#include "agent/model/make_model.h"

#include <string>

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
    default:
      break;
  }
  static_cast<void>(replay);
  return UnimplementedError("model.name: this model is not in this build");
}

}  // namespace weft
