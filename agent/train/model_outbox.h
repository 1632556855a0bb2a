// A worker's models on their way to the rank that evaluates, on a thread of its own: the worker goes on computing.
#pragma once

#include <thread>

#include "agent/train/mailbox.h"
#include "agent/train/rank_context.h"
#include "agent/train/state_exchange.h"
#include "common/status.h"

namespace weft {

// Used by one thread.
class ModelOutbox {
 public:
  // On a rank that is not the writer; `context` outlives it. A send that fails tells the context's inbox.
  explicit ModelOutbox(RankContext& context);
  // Aborts the transport: the writer may not take what waits any more.
  ~ModelOutbox();

  // Takes the model, when fewer than kMostWaitingModels are there before `deadline`; else DEADLINE_EXCEEDED, and it
  // stays the caller's. The cause of a send that has failed.
  Status Add(StateMessage& model, TimePoint deadline);

 private:
  void SendAll();

  RankContext& context_;
  Mailbox<StateMessage> waiting_;
  std::thread thread_;
};

}  // namespace weft
