#include "agent/dataplane/lone_worker.h"

#include <utility>
#include <vector>

namespace weft {
namespace {

class LoneWorker : public DataPlane {
 public:
  LoneWorker(std::size_t groups, ModelView model, LocalStep local_step, Clock& clock)
      : model_(std::move(model)), local_step_(std::move(local_step)), clock_(clock), groups_(groups) {}

  Status BeginIteration(std::int64_t iteration) override {
    record_ = {.iteration = iteration,
               .start = clock_.Now(),
               .end = {},
               .stall = {},
               .group_stall_us = std::vector<double>(groups_, 0),
               .transfers = {},
               .sent_bytes = 0,
               .received_bytes = 0};
    return OkStatus();
  }
  Status BeforeForward(int) override { return OkStatus(); }
  Status GradientReady(int layer, std::int64_t samples) override {
    const FloatRange& range = model_.layers[static_cast<std::size_t>(layer)];
    if (samples > 0 && range.count > 0) local_step_(range, record_.iteration);
    return OkStatus();
  }
  Result<IterationRecord> EndIteration() override {
    record_.end = clock_.Now();
    return record_;
  }
  Status Drain() override { return OkStatus(); }
  Status Finish() override { return OkStatus(); }
  Status Leave() override { return OkStatus(); }
  bool replicated() const override { return true; }
  std::vector<PlaneTensor> SaveState() const override { return {}; }
  Status RestoreState(std::int64_t, const std::vector<PlaneTensor>&) override { return OkStatus(); }

 private:
  const ModelView model_;
  const LocalStep local_step_;
  Clock& clock_;
  const std::size_t groups_;
  IterationRecord record_;
};

}  // namespace

std::unique_ptr<DataPlane> MakeLoneWorker(std::size_t groups, ModelView model, LocalStep local_step, Clock& clock) {
  return std::make_unique<LoneWorker>(groups, std::move(model), std::move(local_step), clock);
}

}  // namespace weft
