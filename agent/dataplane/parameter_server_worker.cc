#include "agent/dataplane/parameter_server_worker.h"

#include <string>
#include <utility>

#include "agent/dataplane/interleaved_worker.h"
#include "agent/dataplane/plan_groups.h"
#include "agent/dataplane/synchronous_worker.h"

namespace weft {
namespace {

// One worker: each gradient is stepped as soon as it is ready.
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
               .transfers = {}};
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

Result<std::unique_ptr<DataPlane>> MakeParameterServerWorker(const ParameterServerOptions& options, const Plan& plan,
                                                             const ModelView& model, LocalStep local_step,
                                                             Transport& transport, Clock& clock) {
  if (model.weights.size() != model.gradients.size()) {
    return InvalidArgumentError("the model has " + std::to_string(model.weights.size()) + " weights and " +
                                std::to_string(model.gradients.size()) + " gradients");
  }
  WEFT_RETURN_IF_ERROR(ValidateParameterServer(options, plan, static_cast<std::int64_t>(model.weights.size())));
  if (transport.rank() >= plan.workers) {
    return InvalidArgumentError("rank " + std::to_string(transport.rank()) + " is none of the " +
                                std::to_string(plan.workers) + " workers");
  }
  WEFT_ASSIGN_OR_RETURN(PlanGroups groups, GroupsOf(plan, model));
  std::unique_ptr<DataPlane> plane;
  if (plan.workers == 1) {
    plane = std::make_unique<LoneWorker>(plan.groups.size(), model, std::move(local_step), clock);
  } else if (plan.strategy == StrategyType::kInterleavedPS) {
    plane = std::make_unique<InterleavedWorker>(options, plan, std::move(groups), model, std::move(local_step),
                                                transport, clock);
  } else {
    plane = std::make_unique<SynchronousWorker>(options, plan, std::move(groups), model, std::move(local_step),
                                                transport, clock);
  }
  return plane;
}

}  // namespace weft
