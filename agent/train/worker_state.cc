#include "agent/train/worker_state.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace weft {
namespace {

// Tensors of this prefix in a StateMessage are the plane's own.
constexpr std::string_view kPlanePrefix = "plane.";
constexpr const char* kWeights = "weights";

}  // namespace

StateMessage TakeState(std::int64_t iteration, Model& model, Optimizer& optimizer, const DataPlane& plane) {
  StateMessage state = TakeModel(iteration, /*final=*/false, model);
  for (const Optimizer::Slot& slot : optimizer.state()) {
    state.tensors.push_back({slot.name, {slot.values.begin(), slot.values.end()}});
  }
  for (PlaneTensor& tensor : plane.SaveState()) {
    state.tensors.push_back({std::string(kPlanePrefix) + tensor.name, std::move(tensor.values)});
  }
  return state;
}

StateMessage TakeModel(std::int64_t iteration, bool final, Model& model) {
  const std::span<const float> weights = model.weights();
  return {.iteration = iteration, .final = final, .tensors = {{kWeights, {weights.begin(), weights.end()}}}};
}

Result<std::vector<PlaneTensor>> PutState(const StateMessage& state, Model& model, Optimizer& optimizer) {
  std::vector<PlaneTensor> of_plane;
  for (const StateTensor& tensor : state.tensors) {
    if (tensor.name.starts_with(kPlanePrefix)) {
      of_plane.push_back({.name = tensor.name.substr(kPlanePrefix.size()), .values = tensor.values});
      continue;
    }
    std::span<float> target;
    if (tensor.name == kWeights) target = model.weights();
    for (const Optimizer::Slot& slot : optimizer.state()) {
      if (slot.name == tensor.name) target = slot.values;
    }
    if (target.size() != tensor.values.size()) {
      return InvalidArgumentError("checkpoint: tensor " + tensor.name + " has " + std::to_string(tensor.values.size()) +
                                  " values, this job needs " + std::to_string(target.size()));
    }
    std::ranges::copy(tensor.values, target.begin());
  }
  return of_plane;
}

}  // namespace weft
