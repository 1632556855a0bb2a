// What the planes without servers have in common: the iteration's record, the waits that are counted in it, and the
// collective Drain and Finish. One thread calls, as data_plane.h says.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "agent/dataplane/data_plane.h"
#include "agent/dataplane/peer_exchange.h"
#include "agent/dataplane/peer_plane.h"
#include "agent/dataplane/plan_groups.h"
#include "common/mutex.h"

namespace weft {

// What MakePeerPlane hands to each strategy. References outlive the plane.
struct PeerPlaneParts {
  const PeerPlaneOptions& options;
  const Plan& plan;
  PlanGroups groups;
  ModelView model;
  LocalStep local_step;
  Transport& transport;
  Clock& clock;
};

class PeerWorker : public DataPlane {
 public:
  PeerWorker(const PeerPlaneParts& parts, bool survive_deaths);

  Status BeginIteration(std::int64_t iteration) override;
  Status BeforeForward(int layer) override;
  Result<IterationRecord> EndIteration() override;
  Status Drain() override;
  Status Finish() override;
  ExchangeStatistics Statistics() const override WEFT_EXCLUDES(interactions_mutex_);
  bool replicated() const override { return false; }
  std::vector<PlaneTensor> SaveState() const override { return {}; }
  Status RestoreState(std::int64_t iteration, const std::vector<PlaneTensor>& tensors) override;

 protected:
  // Completes what is under way for this group, before its forward or at the end. Nothing by default.
  virtual Status Settle(int group);
  // Completes all that is under way, without the others' doing but their sends and receives. Settles each group by
  // default.
  virtual Status SettleAll();
  // After the last Drain, before the goodbye.
  virtual Status Conclude() { return OkStatus(); }

  // The local step of a layer, when it has samples and floats.
  void Step(int layer, std::int64_t samples);
  // The group whose gradients are complete with this layer's; -1: none is.
  int GroupCompletedBy(int layer) const;
  std::span<float> WeightsOf(const FloatRange& range) const;
  // Waits, and counts the wait as the group's stall (-1: of none).
  Result<PeerExchange::Ended> WaitFor(const PeerExchange::Handle& handle, int group);
  Result<PeerExchange::Ended> AwaitFor(const PeerExchange::Handle& handle, int group);
  void CountStall(Duration waited, int group);
  // Into the iteration's record; `peer` is the other rank, 0 for a sum over all.
  void Record(const PeerExchange::Ended& ended, int group, int peer, std::int64_t round);

  // One more exchange that ended so, for Statistics.
  void CountInteraction(const std::string& result) WEFT_EXCLUDES(interactions_mutex_);
  Tag TagOf(int channel, std::int64_t round) const { return {MessageKind::kPeer, channel, round}; }

  // Constant after construction.
  const PeerPlaneOptions options_;
  const int ranks_;
  const int rank_;
  const std::vector<WorkerGroup> groups_;
  const std::vector<int> group_of_layer_;
  const ModelView model_;
  const LocalStep local_step_;
  Clock& clock_;

  std::int64_t iteration_ = 0;
  IterationRecord record_;
  PeerExchange exchange_;

 private:
  mutable Mutex interactions_mutex_;
  std::map<std::string, std::int64_t> interactions_ WEFT_GUARDED_BY(interactions_mutex_);
};

// The tensor of this name. INVALID_ARGUMENT: there is none, or it has another number of values.
Result<std::span<const float>> TensorOf(const std::vector<PlaneTensor>& tensors, const std::string& name,
                                        std::size_t count);

}  // namespace weft
