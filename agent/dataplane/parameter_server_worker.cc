#include "agent/dataplane/parameter_server_worker.h"

#include <string>
#include <utility>

#include "agent/dataplane/interleaved_worker.h"
#include "agent/dataplane/lone_worker.h"
#include "agent/dataplane/plan_groups.h"
#include "agent/dataplane/synchronous_worker.h"

namespace weft {
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
    plane = MakeLoneWorker(plan.groups.size(), model, std::move(local_step), clock);
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
