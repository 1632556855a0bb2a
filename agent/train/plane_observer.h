// Between the trainer, the model and the data plane.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include "agent/dataplane/data_plane.h"
#include "agent/model/model.h"
#include "common/clock.h"
#include "common/status.h"

namespace weft {

// Passes the iterations and the model's layer events on to the plane, and takes the time that they spend there.
class PlaneObserver : public LayerObserver {
 public:
  PlaneObserver(DataPlane& plane, Clock& clock) : plane_(&plane), clock_(clock) {}

  // Between iterations.
  void SetPlane(DataPlane& plane) { plane_ = &plane; }

  Status BeginIteration(std::int64_t iteration, std::int64_t samples) {
    samples_ = samples;
    forward_end_.reset();
    in_plane_ = {};
    return Timed([&] { return plane_->BeginIteration(iteration); });
  }
  Result<IterationRecord> EndIteration() {
    return Timed([&] { return plane_->EndIteration(); });
  }
  // Since the iteration's begin.
  Duration in_plane() const { return in_plane_; }
  // The start of backward.
  TimePoint forward_end() const { return forward_end_.value_or(TimePoint{}); }

  Status BeforeForward(int layer) override {
    return Timed([&] { return plane_->BeforeForward(layer); });
  }
  Status AfterForward(int) override { return OkStatus(); }
  Status BeforeBackward(int) override {
    if (!forward_end_.has_value()) forward_end_ = clock_.Now();
    return OkStatus();
  }
  Status GradientReady(int layer) override {
    return Timed([&] { return plane_->GradientReady(layer, samples_); });
  }

 private:
  template <typename Call>
  std::invoke_result_t<Call> Timed(const Call& call) {
    const TimePoint start = clock_.Now();
    auto result = call();
    in_plane_ += clock_.Now() - start;
    return result;
  }

  DataPlane* plane_;
  Clock& clock_;
  std::int64_t samples_ = 0;
  std::optional<TimePoint> forward_end_;
  Duration in_plane_{};
};

}  // namespace weft
