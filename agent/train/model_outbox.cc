#include "agent/train/model_outbox.h"

#include "agent/train/writer.h"

namespace weft {

ModelOutbox::ModelOutbox(RankContext& context) : context_(context), thread_([this] { SendAll(); }) {}

ModelOutbox::~ModelOutbox() {
  const Status ended = CancelledError("the rank ends");
  waiting_.Close(ended);
  context_.transport->Abort(ended);
  thread_.join();
}

Status ModelOutbox::Add(StateMessage& model, TimePoint deadline) {
  return waiting_.PushWithin(model, kMostWaitingModels, deadline);
}

void ModelOutbox::SendAll() {
  while (true) {
    const Result<StateMessage> next = waiting_.Pop(kUntilClosed);
    if (!next.ok()) return;
    // The writer takes the models of one epoch when the slowest worker has got there.
    const Status sent =
        SendState(*context_.transport, context_.writer_rank(), StatePurpose::kEvaluation, *next, kUntilAborted);
    if (sent.ok()) continue;
    waiting_.Close(sent);
    context_.inbox.PushError(sent);
    return;
  }
}

}  // namespace weft
