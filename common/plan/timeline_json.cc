#include <algorithm>
#include <string>
#include <unordered_set>

#include "common/plan/json.h"
#include "common/plan/json_reader.h"

namespace weft {

using nlohmann::ordered_json;
using plan_json::Fields;

std::string TimelineToJson(const Timeline& timeline) {
  ordered_json layers = ordered_json::array();
  for (const LayerTiming& layer : timeline.layers) {
    layers.push_back({{"name", layer.name},
                      {"bytes", layer.bytes},
                      {"forward_us", layer.forward_us},
                      {"backward_us", layer.backward_us},
                      {"backward_start_us", layer.backward_start_us}});
  }
  const ordered_json out = {
      {"optimizer_us", timeline.optimizer_us}, {"end_us", timeline.end_us}, {"layers", std::move(layers)}};
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Result<Timeline> ParseTimeline(std::string_view text) {
  WEFT_ASSIGN_OR_RETURN(const nlohmann::json root, plan_json::ParseObject(text));
  Timeline timeline;
  Fields top(root, "");
  top.Only({"layers", "optimizer_us", "end_us", "comment"});
  if (top.Has("optimizer_us")) top.Time("optimizer_us", &timeline.optimizer_us);
  const nlohmann::json* layers = top.Array("layers");
  if (layers == nullptr) return top.status();
  if (layers->empty()) return InvalidArgumentError("layers: is empty");

  timeline.layers.resize(layers->size());
  std::unordered_set<std::string> names;
  std::int64_t bytes = 0;
  double end = 0;         // of the latest gradient
  double next_start = 0;  // by the sums
  // Backward order: a start that is not given follows the layer behind.
  for (std::size_t i = layers->size(); i-- > 0;) {
    LayerTiming& layer = timeline.layers[i];
    Fields fields((*layers)[i], "layers[" + std::to_string(i) + "]");
    fields.Only({"name", "bytes", "forward_us", "backward_us", "backward_start_us"});
    fields.Text("name", &layer.name);
    fields.Integer("bytes", 0, plan_json::kMaxBytes, &layer.bytes);
    fields.Time("forward_us", &layer.forward_us);
    fields.Time("backward_us", &layer.backward_us);
    layer.backward_start_us = next_start;
    if (fields.Has("backward_start_us")) {
      fields.Time("backward_start_us", &layer.backward_start_us);
      if (i + 1 < layers->size() && layer.backward_start_us < timeline.layers[i + 1].backward_start_us) {
        fields.Fail("backward_start_us", plan_json::Shown(layer.backward_start_us) + " is before that of layers[" +
                                             std::to_string(i + 1) + "], which comes first in backward");
      }
    }
    if (fields.status().ok() && layer.name.empty()) fields.Fail("name", "is empty");
    if (fields.status().ok() && !names.insert(layer.name).second) {
      fields.Fail("name", plan_json::Shown(layer.name) + " is there twice");
    }
    WEFT_RETURN_IF_ERROR(fields.status());
    next_start = layer.backward_start_us + layer.backward_us;
    end = std::max(end, next_start);
    bytes += layer.bytes;
    if (bytes > plan_json::kMaxBytes) return InvalidArgumentError("layers: more than 2^50 bytes together");
  }
  timeline.end_us = end;
  if (top.Has("end_us")) {
    top.Time("end_us", &timeline.end_us);
    // Not the last gradient: medians of starts and of durations may add up to a little more than the median end.
    const double last_start = timeline.layers.front().backward_start_us;
    if (timeline.end_us < last_start) {
      top.Fail("end_us", plan_json::Shown(timeline.end_us) + " is before the last backward starts, " +
                             plan_json::Shown(last_start));
    }
  }
  WEFT_RETURN_IF_ERROR(top.status());
  return timeline;
}

}  // namespace weft
