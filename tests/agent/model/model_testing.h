// What the tests of the models share: tiny models of each kind, batches for them, and observers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "agent/model/make_model.h"
#include "agent/model/model.h"

namespace weft {

// A model small enough for finite differences, with the samples that it takes.
struct TinyModel {
  std::string name;
  ModelInput input;
  std::function<std::unique_ptr<Model>()> make;
};
inline void PrintTo(const TinyModel& tiny, std::ostream* out) { *out << tiny.name; }
std::vector<TinyModel> TinyModels();
std::vector<TinyModel> TinyImageModels();

// A batch that owns its memory.
struct OwnedBatch {
  std::int64_t size = 0;
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  std::vector<std::uint8_t> tokens;
  Batch view() const { return {size, inputs, labels, tokens}; }
};
// Random inputs in [-1, 1) and labels.
OwnedBatch RandomBatch(const ModelInput& input, std::int64_t size, std::uint64_t seed);

// Does nothing.
class NullObserver : public LayerObserver {
 public:
  Status BeforeForward(int) override { return OkStatus(); }
  Status AfterForward(int) override { return OkStatus(); }
  Status BeforeBackward(int) override { return OkStatus(); }
  Status GradientReady(int) override { return OkStatus(); }
};

}  // namespace weft
