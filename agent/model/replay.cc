#include "agent/model/replay.h"

#include <algorithm>

namespace weft {
namespace {

class Replay : public Model {
 public:
  Replay(const Timeline& timeline, Clock& clock) : timeline_(timeline), clock_(clock) {
    std::int64_t next = 0;
    for (const LayerTiming& timing : timeline.layers) {
      Layer layer;
      layer.name = timing.name;
      layer.first = next;
      layer.count = timing.bytes / static_cast<std::int64_t>(sizeof(float));
      if (layer.count > 0) {
        Parameter parameter;
        parameter.name = timing.name + ".weight";
        parameter.shape = {layer.count};
        parameter.first = next;
        layer.parameters.push_back(std::move(parameter));
      }
      next += layer.count;
      layers_.push_back(std::move(layer));
    }
    weights_.assign(static_cast<std::size_t>(next), 0.0F);
    gradients_.assign(static_cast<std::size_t>(next), 0.0F);
  }

  const std::vector<Layer>& layers() const override { return layers_; }
  std::span<float> weights() override { return weights_; }
  std::span<float> gradients() override { return gradients_; }

  void Initialize(std::uint64_t /*seed*/) override { std::fill(weights_.begin(), weights_.end(), 0.0F); }

  Result<BatchResult> TrainStep(const Batch& batch, LayerObserver& observer) override {
    WEFT_RETURN_IF_ERROR(Check(batch));
    std::fill(gradients_.begin(), gradients_.end(), 0.0F);
    // An empty batch costs a GPU next to nothing.
    const bool empty = batch.size == 0;
    origin_ = clock_.Now();
    double at_us = 0;
    const int count = static_cast<int>(layers_.size());
    for (int i = 0; i < count; ++i) {
      WEFT_RETURN_IF_ERROR(Tell([&] { return observer.BeforeForward(i); }));
      at_us += Timing(i).forward_us;
      if (!empty) SleepTo(at_us);
      WEFT_RETURN_IF_ERROR(Tell([&] { return observer.AfterForward(i); }));
    }
    const double backward_us = at_us;
    for (int i = count - 1; i >= 0; --i) {
      if (!empty) SleepTo(backward_us + Timing(i).backward_start_us);
      WEFT_RETURN_IF_ERROR(Tell([&] { return observer.BeforeBackward(i); }));
      if (!empty) SleepTo(backward_us + Timing(i).backward_start_us + Timing(i).backward_us);
      WEFT_RETURN_IF_ERROR(Tell([&] { return observer.GradientReady(i); }));
    }
    if (!empty) SleepTo(backward_us + timeline_.end_us);
    return BatchResult{.loss_sum = 0, .predictions = batch.size, .correct = 0};
  }

  Result<BatchResult> Evaluate(const Batch& batch) override {
    WEFT_RETURN_IF_ERROR(Check(batch));
    origin_ = clock_.Now();
    if (batch.size > 0) SleepTo(timeline_.forward_us());
    return BatchResult{.loss_sum = 0, .predictions = batch.size, .correct = 0};
  }

 private:
  static Status Check(const Batch& batch) {
    if (batch.size >= 0) return OkStatus();
    return InvalidArgumentError("batch: a size of " + std::to_string(batch.size) + " is below 0");
  }

  const LayerTiming& Timing(int layer) const { return timeline_.layers[static_cast<std::size_t>(layer)]; }

  void SleepTo(double after_us) { clock_.SleepUntil(origin_ + FromMicroseconds(after_us)); }

  // Runs the observer, and moves the step's start by the time that it took.
  template <typename Event>
  Status Tell(const Event& event) {
    const TimePoint before = clock_.Now();
    Status status = event();
    origin_ += clock_.Now() - before;
    return status;
  }

  const Timeline timeline_;
  Clock& clock_;
  std::vector<Layer> layers_;
  std::vector<float> weights_;
  std::vector<float> gradients_;
  TimePoint origin_{};  // the step's start, plus what the observer has taken
};

}  // namespace

std::unique_ptr<Model> MakeReplay(const Timeline& timeline, Clock& clock) {
  return std::make_unique<Replay>(timeline, clock);
}

}  // namespace weft
