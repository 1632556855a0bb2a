// What a generation asks for: values that coordinator/service turns into messages, files and processes.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace weft {

// To the rank that is named: the messages of proto/coordinator.proto.
struct SendPrepare {
  int rank = 0;
};
struct SendMeasureProfile {
  int rank = 0;
};
struct SendMeasureLink {
  int rank = 0;  // one end of the pair
  int worker_rank = 0;
  int peer_rank = 0;  // a server, or another worker
};
struct SendTrain {
  int rank = 0;
};
struct SendProposePause {
  int rank = 0;
  std::int64_t iteration = 0;
};
enum class PausePurpose { kCheckpoint, kCheckpointAndStop, kChangePlan };
struct SendCommitPause {
  int rank = 0;
  std::int64_t iteration = 0;
  PausePurpose purpose = PausePurpose::kCheckpoint;
};
struct SendCancelPause {
  int rank = 0;
  std::int64_t iteration = 0;
};
struct SendVerdict {
  int rank = 0;
  std::int64_t iteration = 0;
  bool stop = false;
};
struct SendFinishNow {
  int rank = 0;
};
struct SendExit {
  int rank = 0;
  int code = 0;
  std::string reason;
};

// Everything is measured: make the plan and answer with PlanMade.
struct AskForPlan {};

// All will pause behind `iteration` to change the plan: what was ready to take its place holds from then on. Comes
// before the SendCommitPause to the ranks.
struct TakeNewPlan {
  std::int64_t iteration = 0;
};
// They have changed, and train again.
struct PlanChanged {};

// One line for the person: a stage began or went on; something to know.
struct TellStage {
  std::string text;
};
struct TellNote {
  std::string text;
};

// The generation is over; nothing follows. The ranks are to be ended and reaped.
struct EndRun {
  int exit_code = 0;    // 0, 1 failure, 2 bad input, 130 stopped when asked to
  std::string message;  // the cause; empty with 0
  bool resumable = false;
  bool unexplained = false;  // a rank died or did not come: the ranks' log may tell why
  bool diverged = false;     // there is no model: its weights are not finite
};

using Action = std::variant<SendPrepare, SendMeasureProfile, SendMeasureLink, SendTrain, SendProposePause,
                            SendCommitPause, SendCancelPause, SendVerdict, SendFinishNow, SendExit, AskForPlan,
                            TakeNewPlan, PlanChanged, TellStage, TellNote, EndRun>;

}  // namespace weft
