// The worker of InterleavedPS. A group that synchronizes in an iteration pushes the snapshot of its weights from before
// that iteration's step and pulls the centre; the elastic term is applied
//   Deadline: before the group's next forward;
//   Late: in the iteration after, behind the local step of the group's last layer in backward, so that the gradient
//     there is still that of the weights without it.
// Each group waits only there. One thread calls.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "agent/dataplane/data_plane.h"
#include "agent/dataplane/parameter_server_options.h"
#include "agent/dataplane/plan_groups.h"
#include "agent/dataplane/worker_exchange.h"

namespace weft {

class InterleavedWorker : public DataPlane {
 public:
  InterleavedWorker(const ParameterServerOptions& options, const Plan& plan, PlanGroups groups, ModelView model,
                    LocalStep local_step, Transport& transport, Clock& clock);

  Status BeginIteration(std::int64_t iteration) override;
  Status BeforeForward(int layer) override;
  Status GradientReady(int layer, std::int64_t samples) override;
  Result<IterationRecord> EndIteration() override;
  Status Drain() override;
  Status Finish() override;
  Status Leave() override { return exchange_.Goodbye(/*last=*/false); }
  bool replicated() const override { return false; }
  std::vector<PlaneTensor> SaveState() const override;
  Status RestoreState(std::int64_t iteration, const std::vector<PlaneTensor>& tensors) override;

 private:
  // A round whose elastic term has not been applied.
  struct OpenRound {
    std::int64_t round = 0;
    std::int64_t iteration = 0;
    std::size_t buffer = 0;
  };
  struct Buffers {
    std::vector<float> snapshot;
    std::vector<float> centre;
  };
  struct Group {
    WorkerGroup place;
    std::int64_t next_round = 0;
    std::vector<Buffers> buffers;      // two when a round begins before the one before it is applied: Late, T = 1
    std::deque<OpenRound> open;        // oldest first
    bool to_begin = false;             // synchronizes in this iteration, as soon as the open round is applied
    std::vector<float> restored_term;  // Late: of the round before a restart; empty: none
  };

  Status Begin(Group& group, bool last);
  Status ApplyOldest(Group& group);
  std::span<float> WeightsOf(const Group& group);
  TimePoint SlotStart(const Group& group, int slot) const;

  // Constant after construction.
  const ParameterServerOptions options_;
  const Plan plan_;
  const float elastic_rate_;
  const Duration forward_time_;
  const std::vector<int> group_of_layer_;
  const ModelView model_;
  const LocalStep local_step_;
  const int rank_;
  Clock& clock_;

  std::vector<Group> groups_;
  std::int64_t iteration_ = 0;
  IterationRecord record_;
  WorkerExchange exchange_;  // last: it uses the groups' buffers until it is gone
};

}  // namespace weft
