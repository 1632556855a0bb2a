#include "agent/train/plan_check.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft {

Status CheckPlanFitsModel(const Plan& plan, std::span<const Layer> layers) {
  const int count = static_cast<int>(layers.size());
  std::int64_t planned = 0;
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const PlanGroup& group = plan.groups[g];
    const std::string place = "plan.groups[" + std::to_string(g) + "]";
    if (group.first_layer < 0 || group.last_layer >= count) {
      return InvalidArgumentError(place + ": layer " + std::to_string(group.last_layer) +
                                  " is not one of the model's " + std::to_string(count));
    }
    std::int64_t bytes = 0;
    // In backward order.
    for (std::size_t i = 0; i < group.layers.size(); ++i) {
      const Layer& layer = layers[static_cast<std::size_t>(group.last_layer) - i];
      if (group.layers[i] != layer.name) {
        return InvalidArgumentError(place + ".layers: '" + group.layers[i] + "' is not the model's '" + layer.name +
                                    "'");
      }
      bytes += static_cast<std::int64_t>(sizeof(float)) * layer.count;
    }
    if (group.bytes != bytes) {
      return InvalidArgumentError(place + ".bytes: " + std::to_string(group.bytes) + " is not the model's " +
                                  std::to_string(bytes));
    }
    planned += bytes;
  }
  std::int64_t all = 0;
  for (const Layer& layer : layers) all += static_cast<std::int64_t>(sizeof(float)) * layer.count;
  if (planned != all) {
    return InvalidArgumentError("plan.groups: " + std::to_string(planned) + " bytes in all are not the model's " +
                                std::to_string(all));
  }
  return OkStatus();
}

}  // namespace weft
