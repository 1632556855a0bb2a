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

  // Waits while kMostWaitingModels are there. CANCELLED: a send has failed.
  Status Add(StateMessage model);

 private:
  void SendAll();

  RankContext& context_;
  Mailbox<StateMessage> waiting_;
  std::thread thread_;
};

}  // namespace weft
