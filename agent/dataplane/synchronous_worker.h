// The worker of MergedPS and BulkSynchronousPS, which differ in the plan's groups only: each group's gradient is pushed
// when its last layer in backward is ready, the mean over all samples comes back in its place, and the local step is
// taken with it before the group's next forward. One thread calls.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/dataplane/data_plane.h"
#include "agent/dataplane/parameter_server_options.h"
#include "agent/dataplane/plan_groups.h"
#include "agent/dataplane/worker_exchange.h"

namespace weft {

class SynchronousWorker : public DataPlane {
 public:
  SynchronousWorker(const ParameterServerOptions& options, const Plan& plan, PlanGroups groups, ModelView model,
                    LocalStep local_step, Transport& transport, Clock& clock);

  Status BeginIteration(std::int64_t iteration) override;
  Status BeforeForward(int layer) override;
  Status GradientReady(int layer, std::int64_t samples) override;
  Result<IterationRecord> EndIteration() override;
  Status Drain() override;
  Status Finish() override;
  Status Leave() override { return exchange_.Goodbye(/*last=*/false); }
  bool replicated() const override { return true; }
  std::vector<PlaneTensor> SaveState() const override { return {}; }
  Status RestoreState(std::int64_t iteration, const std::vector<PlaneTensor>& tensors) override;

 private:
  struct Group {
    WorkerGroup place;
    std::int64_t stepping = 0;  // the iteration whose mean is under way; 0: none
  };
  Status Step(Group& group);

  // Constant after construction.
  const std::vector<Shard> shards_;
  const std::vector<int> group_of_layer_;
  const ModelView model_;
  const LocalStep local_step_;
  Clock& clock_;

  std::vector<Group> groups_;
  std::int64_t iteration_ = 0;
  IterationRecord record_;
  WorkerExchange exchange_;  // last: it uses the gradients until it is gone
};

}  // namespace weft
