#include "coordinator/service/messages.h"

#include <algorithm>
#include <cstdint>

namespace weft {
namespace {

constexpr std::uint32_t kWarmupIterations = 5;
constexpr std::uint32_t kMeasuredIterations = 20;

}  // namespace

MeasuredIteration ToMeasured(int rank, const v1::IterationReport& report) {
  constexpr double kUsPerNs = 1e-3;
  MeasuredIteration measured{.worker = rank,
                             .iteration = report.iteration(),
                             .iteration_us = static_cast<double>(report.end_ns() - report.start_ns()) * kUsPerNs,
                             .stall_us = static_cast<double>(report.stall_ns()) * kUsPerNs,
                             .transfers = {}};
  for (const v1::Transfer& transfer : report.transfers()) {
    measured.transfers.push_back({.group = static_cast<int>(transfer.group()),
                                  .server = static_cast<int>(transfer.server()),
                                  .bytes = static_cast<double>(std::max(transfer.push_bytes(), transfer.pull_bytes())),
                                  .us = static_cast<double>(transfer.end_ns() - transfer.granted_ns()) * kUsPerNs});
  }
  return measured;
}

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
  switch (action.purpose) {
    case PausePurpose::kCheckpoint:
      message.mutable_commit_pause()->set_action(v1::PAUSE_ACTION_CHECKPOINT);
      break;
    case PausePurpose::kCheckpointAndStop:
      message.mutable_commit_pause()->set_action(v1::PAUSE_ACTION_CHECKPOINT_AND_STOP);
      break;
    case PausePurpose::kChangePlan:
      message.mutable_commit_pause()->set_action(v1::PAUSE_ACTION_REPLAN);
      break;
  }
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
