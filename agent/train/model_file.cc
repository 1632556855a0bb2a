#include "agent/train/model_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/rundir/safetensors.h"

namespace weft {
namespace {

std::span<float> ValuesOf(const Parameter& parameter, std::span<float> weights) {
  return weights.subspan(static_cast<std::size_t>(parameter.first), static_cast<std::size_t>(parameter.count()));
}

}  // namespace

Status WriteModelFile(const std::string& path, Model& model) {
  std::vector<TensorView> tensors;
  for (const Layer& layer : model.layers()) {
    for (const Parameter& parameter : layer.parameters) {
      tensors.push_back({parameter.name, parameter.shape, ValuesOf(parameter, model.weights())});
    }
  }
  // The metadata that loaders of PyTorch models look for.
  return WriteSafetensors(path, tensors, {{"format", "pt"}}).status();
}

Status ReadModelFile(const std::string& path, Model& model) {
  WEFT_ASSIGN_OR_RETURN(const SafetensorsReader reader, SafetensorsReader::Open(path));
  std::size_t parameters = 0;
  for (const Layer& layer : model.layers()) {
    for (const Parameter& parameter : layer.parameters) {
      const TensorInfo* info = reader.Find(parameter.name);
      if (info == nullptr) return InvalidArgumentError(path + ": no tensor " + parameter.name);
      if (info->shape != parameter.shape) {
        return InvalidArgumentError(path + ": tensor " + parameter.name + " has another shape than the model's");
      }
      WEFT_RETURN_IF_ERROR(reader.Read(parameter.name, ValuesOf(parameter, model.weights())));
      ++parameters;
    }
  }
  if (reader.tensors().size() != parameters) {
    return InvalidArgumentError(path + ": " + std::to_string(reader.tensors().size()) + " tensors, the model has " +
                                std::to_string(parameters));
  }
  return OkStatus();
}

}  // namespace weft
