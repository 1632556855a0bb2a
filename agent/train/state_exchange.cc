#include "agent/train/state_exchange.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>

namespace weft {
namespace {

Tag LengthTag(StatePurpose purpose) { return {MessageKind::kState, 3 * static_cast<int>(purpose), 0}; }
Tag ManifestTag(StatePurpose purpose) { return {MessageKind::kState, 3 * static_cast<int>(purpose) + 1, 0}; }
Tag TensorTag(StatePurpose purpose) { return {MessageKind::kState, 3 * static_cast<int>(purpose) + 2, 0}; }

std::string Manifest(const StateMessage& message) {
  nlohmann::json tensors = nlohmann::json::array();
  for (const StateTensor& tensor : message.tensors) {
    tensors.push_back({{"name", tensor.name}, {"count", tensor.values.size()}});
  }
  return nlohmann::json({{"iteration", message.iteration}, {"final", message.final}, {"tensors", tensors}}).dump();
}

// The message with its tensors sized and still zero. Throws nlohmann's exceptions.
StateMessage ParseManifest(const std::string& text) {
  const nlohmann::json manifest = nlohmann::json::parse(text);
  StateMessage message;
  message.iteration = manifest.at("iteration").get<std::int64_t>();
  message.final = manifest.at("final").get<bool>();
  for (const nlohmann::json& entry : manifest.at("tensors")) {
    message.tensors.push_back({.name = entry.at("name").get<std::string>(),
                               .values = std::vector<float>(entry.at("count").get<std::size_t>())});
  }
  return message;
}

}  // namespace

Status SendState(Transport& transport, int to, StatePurpose purpose, const StateMessage& message, TimePoint deadline) {
  const std::string manifest = Manifest(message);
  const std::uint64_t length = manifest.size();
  WEFT_RETURN_IF_ERROR(SendAndWait(transport, to, LengthTag(purpose), std::as_bytes(std::span(&length, 1)), deadline));
  WEFT_RETURN_IF_ERROR(SendAndWait(transport, to, ManifestTag(purpose), std::as_bytes(std::span(manifest)), deadline));
  for (const StateTensor& tensor : message.tensors) {
    WEFT_RETURN_IF_ERROR(
        SendAndWait(transport, to, TensorTag(purpose), std::as_bytes(std::span(tensor.values)), deadline));
  }
  return OkStatus();
}

Result<StateMessage> ReceiveState(Transport& transport, int from, StatePurpose purpose, TimePoint deadline) {
  std::uint64_t length = 0;
  WEFT_RETURN_IF_ERROR(
      ReceiveAndWait(transport, from, LengthTag(purpose), std::as_writable_bytes(std::span(&length, 1)), deadline));
  std::string manifest(length, '\0');
  WEFT_RETURN_IF_ERROR(
      ReceiveAndWait(transport, from, ManifestTag(purpose), std::as_writable_bytes(std::span(manifest)), deadline));
  StateMessage message;
  try {
    message = ParseManifest(manifest);
  } catch (const nlohmann::json::exception& error) {
    return DataLossError("state manifest from rank " + std::to_string(from) + ": " + error.what());
  }
  for (StateTensor& tensor : message.tensors) {
    WEFT_RETURN_IF_ERROR(ReceiveAndWait(transport, from, TensorTag(purpose),
                                        std::as_writable_bytes(std::span(tensor.values)), deadline));
  }
  return message;
}

}  // namespace weft
