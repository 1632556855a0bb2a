// One membership generation as a state machine: what the ranks, the launcher and the clock tell it goes in, actions
// come out. No I/O, no threads, no clock of its own: golden scripts in tests/coordinator/membership tell whole runs.
//
//   registering -> preparing -> profiling -> linking -> planning -> training -> exiting -> ended
//                      \_____________ a plan was given ____________/
//
// Each state waits for something from certain ranks, with a deadline; the rank that does not deliver is named. A stream
// that breaks before Exit ends the run, and the first that broke is the cause: what follows it are consequences.
//
// Pauses: when a checkpoint is due, a stop was asked or another plan is to take effect, an iteration a little ahead is
// proposed to all. When all accept, the pause is committed; when one had passed it, cancelled, and proposed again
// further ahead. Asynchronous workers, who do not wait for each other's iterations, pause each at the end of its own
// (iteration 0 in the messages). When such a worker has ended its last iteration it waits, and pauses like the others,
// until all have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "coordinator/membership/action.h"

namespace weft {

struct GenerationOptions {
  std::uint64_t number = 1;
  std::string job;
  int workers = 1;                        // ranks 0 .. workers-1
  int servers = 0;                        // the ranks after them
  bool measure = true;                    // false: a plan was given, nothing is measured
  bool server_links = true;               // measured between each worker and each server
  bool peer_links = false;                // measured between each worker and the next
  std::optional<double> target_accuracy;  // the epochs' evaluations are answered with a verdict
  std::int64_t start_iteration = 0;       // of the checkpoint that is resumed
  Duration checkpoint_interval{};         // 0: none but the last
  Duration register_timeout = std::chrono::seconds(30);
  Duration prepare_timeout = std::chrono::seconds(120);  // reading data
  Duration measure_timeout = std::chrono::seconds(300);  // all profiles; each pair of a link
  Duration silence_timeout = std::chrono::seconds(120);  // no word from a rank that is to train, vote or save
};

// True for errors of what a person gave (exit code 2), not of the work (1).
bool IsBadInput(const Status& status);

enum class MemberRole { kWorker, kServer };

struct Registration {
  std::uint64_t generation = 0;
  std::string job;
  MemberRole role = MemberRole::kWorker;
  int rank = 0;
  int index = 0;  // within the role
  std::int64_t pid = 0;
  int metrics_port = 0;
};

struct Readiness {
  std::int64_t parameter_count = 0;
  std::int64_t iterations_per_epoch = 0;
  std::int64_t total_iterations = 0;
  std::string note;
};

// Not thread-safe. Each call may append actions, which TakeActions hands over in order.
class Generation {
 public:
  Generation(GenerationOptions options, TimePoint now);

  // A refusal (FAILED_PRECONDITION for a foreign job or generation, INVALID_ARGUMENT for a rank, role or index that is
  // not expected, ALREADY_EXISTS for a second one) is for that stream only: the generation goes on.
  Status OnRegister(const Registration& registration, TimePoint now);
  void OnReady(int rank, const Readiness& readiness, TimePoint now);
  void OnProfile(int rank, TimePoint now);
  void OnLink(int rank, int peer_rank, TimePoint now);
  void OnPlanMade(const Status& status, bool asynchronous, TimePoint now);
  // Rank `rank` has ended `iteration`; `iteration_seconds` is what one takes at the moment.
  void OnIteration(int rank, std::int64_t iteration, double iteration_seconds, TimePoint now);
  // Any other word of a rank that trains, or evaluates.
  void OnSignOfLife(int rank, TimePoint now);
  void OnVote(int rank, std::int64_t iteration, bool accepted, std::int64_t current_iteration, TimePoint now);
  // `path` is empty from ranks that do not write.
  void OnCheckpoint(int rank, std::int64_t iteration, const std::string& path, TimePoint now);
  void OnEvaluation(std::int64_t iteration, double accuracy, bool final, TimePoint now);
  // An asynchronous worker has ended its last iteration, and waits.
  void OnEndReached(int rank, TimePoint now);
  void OnFinished(int rank, TimePoint now);
  void OnFailure(int rank, const Status& status);
  // The models are not finite any more. From a checkpoint the run would come to the same, so it is not resumable.
  void OnDiverged(const std::string& cause);
  // The coordinator itself can't go on: a disk is full.
  void OnOwnFailure(const Status& status);
  void OnStreamLost(int rank, TimePoint now);
  // The process that launched the ranks has ended; `how` says how ("mpirun was killed by signal 9").
  void OnLauncherEnded(const std::string& how, bool by_signal, TimePoint now);
  void OnStopAsked(TimePoint now);
  // Another plan is ready. All change to it behind one iteration; behind it no evaluation may be nearer than `distance`
  // iterations, unless it is behind the very same one: servers may have taken its model already, by the old plan.
  // Synchronous strategies only. Nothing comes of it when the end is nearer.
  void OnPlanReady(std::int64_t distance, TimePoint now);
  // At least every 100 ms.
  void OnTick(TimePoint now);

  std::vector<Action> TakeActions();

  bool ended() const { return state_ == State::kEnded; }
  std::int64_t iterations_per_epoch() const { return iterations_per_epoch_; }
  std::int64_t total_iterations() const { return total_iterations_; }
  std::int64_t parameter_count() const { return parameter_count_; }
  // "worker 3", "server 0".
  std::string NameOf(int rank) const;

 private:
  enum class State { kRegistering, kPreparing, kProfiling, kLinking, kPlanning, kTraining, kExiting, kEnded };

  struct Member {
    bool registered = false;
    bool attending = false;  // its stream stands
    std::int64_t pid = 0;
    bool delivered = false;  // what the state, or the pause, waits for
    bool end_reached = false;
    bool finished = false;
    TimePoint last_word{};
  };

  // Proposed, then committed once all have voted yes.
  struct Pause {
    std::int64_t iteration = 0;  // 0: each worker's own
    bool committed = false;
    PausePurpose purpose = PausePurpose::kCheckpoint;
    bool refused = false;
    std::int64_t furthest = 0;  // the highest current iteration that a vote told
    TimePoint proposed{};
    TimePoint deadline{};
  };

  int world_size() const { return options_.workers + options_.servers; }
  bool IsWorker(int rank) const { return rank < options_.workers; }
  Member* Find(int rank);
  std::string Describe(int rank) const;  // with its pid
  static std::string Seconds(Duration duration);
  void Enter(State state, TimePoint deadline);
  void ClearDelivered();
  bool AllDelivered(bool workers_only) const;
  // "worker 1 and server 0": registered ranks that have not delivered.
  std::string Missing(bool workers_only) const;

  void Prepare(TimePoint now);
  void Measure(TimePoint now);
  void NextLink(TimePoint now);
  void Train(TimePoint now);
  void ProposePauseIfDue(TimePoint now);
  // The first iteration from `iteration` on behind which the plan may change.
  std::int64_t ChangeFrom(std::int64_t iteration) const;
  // Where synchronous workers should pause; nullopt: the end is nearer.
  std::optional<std::int64_t> NextCommonIteration(TimePoint now) const;
  // Ranks that have not done their part of a pause behind `iteration` by then are not waited for any longer.
  TimePoint PauseDeadline(std::int64_t iteration, TimePoint now) const;
  void DropPause() { pause_.reset(); }
  void EndPause(TimePoint now);
  void FinishTogetherIfDue(TimePoint now);
  void FinishIfComplete(TimePoint now);
  void FailIfSilent(TimePoint now);
  void Exit(int exit_code, const std::string& reason, TimePoint now);
  void EndIfGone(TimePoint now);
  int ExitCodeFor(const Status& status) const;
  void Fail(int exit_code, const std::string& cause);
  void FailUnexplained(const std::string& cause);
  // The ranks that are there are told to exit, and the run ends at once.
  void End(EndRun end);
  template <typename Message>
  void ToAll(Message message, bool workers_only = false) {
    for (int rank = 0; rank < (workers_only ? options_.workers : world_size()); ++rank) {
      message.rank = rank;
      actions_.push_back(message);
    }
  }

  const GenerationOptions options_;
  State state_ = State::kRegistering;
  TimePoint deadline_{};  // of the state; training has none of its own
  std::vector<Member> members_;
  std::vector<Action> actions_;

  std::int64_t parameter_count_ = 0;
  std::int64_t iterations_per_epoch_ = 0;
  std::int64_t total_iterations_ = 0;
  std::vector<std::pair<int, int>> pairs_;  // to be linked, a worker first
  std::size_t next_pair_ = 0;               // of linking
  bool asynchronous_ = false;
  bool finishing_ = false;  // asynchronous workers were told to finish

  std::int64_t iteration_ = 0;  // the highest that any rank has told
  double iteration_seconds_ = 0;
  TimePoint iteration_time_{};  // when it was told
  // How far a pause is proposed ahead. When one had passed it, doubles at least, and is twice the time that the votes
  // took: where the coordinator gets little of its processor, what it hears of is that old.
  double ahead_seconds_ = 0.2;
  std::int64_t least_proposal_ = 0;
  std::optional<Pause> pause_;
  bool plan_ready_ = false;  // to take the place of the one that holds
  std::int64_t change_distance_ = 1;
  TimePoint last_checkpoint_{};
  bool stop_asked_ = false;
  bool saved_ = false;  // a checkpoint of this run, or the one that was resumed
  bool final_evaluation_ = false;

  std::optional<int> first_lost_;  // whose stream broke first; becomes the cause at lost_deadline_
  TimePoint lost_deadline_{};
  bool launcher_ended_ = false;
  std::optional<std::string> launcher_end_;  // how, while it is not known which rank was the cause
  EndRun end_{};                             // while exiting
};

}  // namespace weft
