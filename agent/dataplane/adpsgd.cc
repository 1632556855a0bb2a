#include "agent/dataplane/adpsgd.h"

#include <string>

namespace weft {

AdpsgdWorker::AdpsgdWorker(const PeerPlaneParts& parts)
    : PeerWorker(parts, /*survive_deaths=*/true),
      shared_(model_.weights),
      snapshot_(model_.weights.begin(), model_.weights.end()),
      exchanger_(
          {.seed = options_.seed, .peer_timeout = options_.peer_timeout, .exchange_timeout = options_.exchange_timeout},
          *options_.topology, rank_, shared_, exchange_, clock_,
          [this](const std::string& result) { CountInteraction(result); }) {}

Status AdpsgdWorker::BeginIteration(std::int64_t iteration) {
  WEFT_RETURN_IF_ERROR(PeerWorker::BeginIteration(iteration));
  shared_.Refresh(model_.weights, snapshot_);
  exchanger_.Initiate(iteration);
  return OkStatus();
}

Status AdpsgdWorker::GradientReady(int layer, std::int64_t samples) {
  Step(layer, samples);
  return exchange_.status();
}

Result<IterationRecord> AdpsgdWorker::EndIteration() {
  const TimePoint start = clock_.Now();
  exchanger_.AwaitAveraging();
  record_.stall += clock_.Now() - start;
  shared_.Fold(model_.weights, snapshot_);
  const std::int64_t bytes = static_cast<std::int64_t>(model_.weights.size_bytes());
  for (const AdpsgdExchanger::Averaged& averaged : exchanger_.TakeAveraged()) {
    record_.transfers.push_back({.group = 0,
                                 .server = averaged.partner,
                                 .round = averaged.iteration,
                                 .planned_start = averaged.start,
                                 .start = averaged.start,
                                 .granted = averaged.start,
                                 .end = averaged.end,
                                 .push_bytes = bytes + 4,
                                 .pull_bytes = bytes});
  }
  return PeerWorker::EndIteration();
}

Status AdpsgdWorker::Drain() {
  WEFT_RETURN_IF_ERROR(exchanger_.Quiesce());
  WEFT_RETURN_IF_ERROR(exchange_.Barrier());  // nobody's averaging is under way any more
  shared_.Refresh(model_.weights, snapshot_);
  WEFT_RETURN_IF_ERROR(exchange_.Barrier());  // nobody is changed by one that goes on already
  exchanger_.Resume();
  return OkStatus();
}

Status AdpsgdWorker::Conclude() { return exchanger_.Farewell(); }

}  // namespace weft
