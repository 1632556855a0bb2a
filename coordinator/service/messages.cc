#include "coordinator/service/messages.h"

#include <cstdint>

namespace weft {
namespace {

constexpr std::uint32_t kWarmupIterations = 5;
constexpr std::uint32_t kMeasuredIterations = 20;

}  // namespace

v1::CoordinatorMessage ToMessage(const SendMeasureLink& action) {
  v1::CoordinatorMessage message;
  message.mutable_measure_link()->set_worker_rank(static_cast<std::uint32_t>(action.worker_rank));
  message.mutable_measure_link()->set_peer_rank(static_cast<std::uint32_t>(action.peer_rank));
  return message;
}

v1::CoordinatorMessage ToMessage(const SendMeasureProfile& /*action*/) {
  v1::CoordinatorMessage message;
  message.mutable_measure_profile()->set_warmup_iterations(kWarmupIterations);
  message.mutable_measure_profile()->set_iterations(kMeasuredIterations);
  return message;
}

v1::CoordinatorMessage ToMessage(const SendProposePause& action) {
  v1::CoordinatorMessage message;
  message.mutable_propose_pause()->set_iteration(action.iteration);
  return message;
}

v1::CoordinatorMessage ToMessage(const SendCommitPause& action) {
  v1::CoordinatorMessage message;
  message.mutable_commit_pause()->set_iteration(action.iteration);
  message.mutable_commit_pause()->set_action(action.stop ? v1::PAUSE_ACTION_CHECKPOINT_AND_STOP
                                                         : v1::PAUSE_ACTION_CHECKPOINT);
  return message;
}

v1::CoordinatorMessage ToMessage(const SendCancelPause& action) {
  v1::CoordinatorMessage message;
  message.mutable_cancel_pause()->set_iteration(action.iteration);
  return message;
}

v1::CoordinatorMessage ToMessage(const SendVerdict& action) {
  v1::CoordinatorMessage message;
  message.mutable_verdict()->set_iteration(action.iteration);
  message.mutable_verdict()->set_stop(action.stop);
  return message;
}

v1::CoordinatorMessage ToMessage(const SendFinishNow& /*action*/) {
  v1::CoordinatorMessage message;
  message.mutable_finish_now();
  return message;
}

v1::CoordinatorMessage ToMessage(const SendExit& action) {
  v1::CoordinatorMessage message;
  message.mutable_exit()->set_code(action.code);
  message.mutable_exit()->set_reason(action.reason);
  return message;
}

}  // namespace weft
