#include "coordinator/membership/generation.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft {
namespace {

// A rank that is killed takes its neighbours with it within moments, and the death of the launcher kills them all: the
// cause is told after so long, so that a launcher that died first is seen as the cause.
constexpr Duration kBlameDelay = std::chrono::milliseconds(300);
// The launcher ends when a rank has died. News of which one may still wait behind the reports of all others.
constexpr Duration kLauncherBlameDelay = std::chrono::seconds(2);
// Everything is saved by then.
constexpr Duration kExitTimeout = std::chrono::seconds(1);

std::string Counted(int count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// One after the other, so that no pair disturbs another.
std::vector<std::pair<int, int>> PairsToLink(const GenerationOptions& options) {
  std::vector<std::pair<int, int>> pairs;
  for (int worker = 0; options.server_links && worker < options.workers; ++worker) {
    for (int server = 0; server < options.servers; ++server) pairs.emplace_back(worker, options.workers + server);
  }
  // Of two workers, the one link.
  const int links = options.workers > 2 ? options.workers : options.workers - 1;
  for (int worker = 0; options.peer_links && worker < links; ++worker) {
    pairs.emplace_back(worker, (worker + 1) % options.workers);
  }
  return pairs;
}

}  // namespace

bool IsBadInput(const Status& status) {
  return status.code() == StatusCode::kInvalidArgument || status.code() == StatusCode::kNotFound ||
         status.code() == StatusCode::kOutOfRange || status.code() == StatusCode::kDataLoss;
}

Generation::Generation(GenerationOptions options, TimePoint now)
    : options_(std::move(options)), iteration_(options_.start_iteration), saved_(options_.start_iteration > 0) {
  members_.resize(static_cast<std::size_t>(world_size()));
  pairs_ = PairsToLink(options_);
  Enter(State::kRegistering, now + options_.register_timeout);
  std::string ranks = Counted(options_.workers, "worker");
  if (options_.servers > 0) ranks += " and " + Counted(options_.servers, "server");
  actions_.push_back(TellStage{"starting " + ranks});
}

std::vector<Action> Generation::TakeActions() { return std::exchange(actions_, {}); }

std::string Generation::NameOf(int rank) const {
  return IsWorker(rank) ? "worker " + std::to_string(rank) : "server " + std::to_string(rank - options_.workers);
}

std::string Generation::Describe(int rank) const {
  const Member& member = members_[static_cast<std::size_t>(rank)];
  return NameOf(rank) + (member.registered ? " (pid " + std::to_string(member.pid) + ")" : "");
}

Generation::Member* Generation::Find(int rank) {
  if (ended() || rank < 0 || rank >= world_size()) return nullptr;
  return &members_[static_cast<std::size_t>(rank)];
}

std::string Generation::Seconds(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(duration).count()) + " s";
}

void Generation::Enter(State state, TimePoint deadline) {
  state_ = state;
  deadline_ = deadline;
  ClearDelivered();
}

void Generation::ClearDelivered() {
  for (Member& member : members_) member.delivered = false;
}

bool Generation::AllDelivered(bool workers_only) const {
  const auto last = members_.begin() + (workers_only ? options_.workers : world_size());
  return std::all_of(members_.begin(), last, [](const Member& member) { return member.delivered; });
}

std::string Generation::Missing(bool workers_only) const {
  std::string names;
  for (int rank = 0; rank < (workers_only ? options_.workers : world_size()); ++rank) {
    if (members_[static_cast<std::size_t>(rank)].delivered) continue;
    names += (names.empty() ? "" : ", ") + Describe(rank);
  }
  return names;
}

Status Generation::OnRegister(const Registration& registration, TimePoint now) {
  if (registration.generation != options_.number) {
    return FailedPreconditionError("generation: " + std::to_string(registration.generation) + " is not the current " +
                                   std::to_string(options_.number));
  }
  if (registration.job != options_.job) {
    return FailedPreconditionError("job: '" + registration.job + "' is not '" + options_.job + "'");
  }
  if (state_ != State::kRegistering) return FailedPreconditionError("the generation is complete");
  Member* member = Find(registration.rank);
  if (member == nullptr) {
    return InvalidArgumentError("rank: " + std::to_string(registration.rank) + " is not below " +
                                std::to_string(world_size()));
  }
  const MemberRole role = IsWorker(registration.rank) ? MemberRole::kWorker : MemberRole::kServer;
  const int index = registration.rank - (role == MemberRole::kServer ? options_.workers : 0);
  if (registration.role != role || registration.index != index) {
    return InvalidArgumentError("rank " + std::to_string(registration.rank) + " is " + NameOf(registration.rank) +
                                ", not another role or index");
  }
  if (member->registered) return AlreadyExistsError(NameOf(registration.rank) + " is registered already");
  *member = {.registered = true, .attending = true, .pid = registration.pid, .delivered = true, .last_word = now};
  if (AllDelivered(false)) Prepare(now);
  return OkStatus();
}

void Generation::Prepare(TimePoint now) {
  Enter(State::kPreparing, now + options_.prepare_timeout);
  actions_.push_back(TellStage{"reading the data and making the model"});
  ToAll(SendPrepare{});
}

void Generation::OnReady(int rank, const Readiness& readiness, TimePoint now) {
  Member* member = Find(rank);
  if (member == nullptr || state_ != State::kPreparing || member->delivered) return;
  member->delivered = true;
  parameter_count_ = std::max(parameter_count_, readiness.parameter_count);
  iterations_per_epoch_ = std::max(iterations_per_epoch_, readiness.iterations_per_epoch);
  total_iterations_ = std::max(total_iterations_, readiness.total_iterations);
  if (!readiness.note.empty()) actions_.push_back(TellNote{NameOf(rank) + ": " + readiness.note});
  if (!AllDelivered(false)) return;
  if (options_.measure) {
    Measure(now);
  } else {
    Enter(State::kPlanning, now + options_.measure_timeout);
    actions_.push_back(AskForPlan{});
  }
}

void Generation::Measure(TimePoint now) {
  Enter(State::kProfiling, now + options_.measure_timeout);
  actions_.push_back(TellStage{"measuring the model"});
  ToAll(SendMeasureProfile{}, /*workers_only=*/true);
}

void Generation::OnProfile(int rank, TimePoint now) {
  Member* member = Find(rank);
  if (member == nullptr || state_ != State::kProfiling || !IsWorker(rank)) return;
  member->delivered = true;
  if (!AllDelivered(/*workers_only=*/true)) return;
  next_pair_ = 0;
  Enter(State::kLinking, now + options_.measure_timeout);
  NextLink(now);
}

void Generation::NextLink(TimePoint now) {
  if (next_pair_ == pairs_.size()) {
    Enter(State::kPlanning, now + options_.measure_timeout);
    actions_.push_back(TellStage{"planning"});
    actions_.push_back(AskForPlan{});
    return;
  }
  const auto [worker, peer] = pairs_[next_pair_];
  deadline_ = now + options_.measure_timeout;
  actions_.push_back(
      TellStage{"measuring links: " + std::to_string(next_pair_ + 1) + " of " + std::to_string(pairs_.size())});
  // The peer first, so that it listens when the worker's first ping comes.
  actions_.push_back(SendMeasureLink{.rank = peer, .worker_rank = worker, .peer_rank = peer});
  actions_.push_back(SendMeasureLink{.rank = worker, .worker_rank = worker, .peer_rank = peer});
}

void Generation::OnLink(int rank, int peer_rank, TimePoint now) {
  if (state_ != State::kLinking || pairs_[next_pair_] != std::pair(rank, peer_rank)) return;
  ++next_pair_;
  NextLink(now);
}

void Generation::OnPlanMade(const Status& status, bool asynchronous, TimePoint now) {
  if (state_ != State::kPlanning) return;
  if (!status.ok()) return Fail(ExitCodeFor(status), "the plan could not be made: " + status.message());
  asynchronous_ = asynchronous;
  Train(now);
}

void Generation::Exit(int exit_code, const std::string& reason, TimePoint now) {
  end_ = {.exit_code = exit_code, .message = reason, .resumable = exit_code != 0 && saved_};
  Enter(State::kExiting, now + kExitTimeout);
  ToAll(SendExit{.code = 0, .reason = reason});
  EndIfGone(now);
}

void Generation::EndIfGone(TimePoint now) {
  if (state_ != State::kExiting) return;
  const bool attending =
      std::any_of(members_.begin(), members_.end(), [](const Member& member) { return member.attending; });
  if ((attending || !launcher_ended_) && now < deadline_) return;
  state_ = State::kEnded;
  actions_.push_back(end_);
}

void Generation::Fail(int exit_code, const std::string& cause) {
  End({.exit_code = exit_code, .message = cause, .resumable = saved_});
}

void Generation::FailUnexplained(const std::string& cause) {
  End({.exit_code = 1, .message = cause, .resumable = saved_, .unexplained = true});
}

void Generation::End(EndRun end) {
  if (ended()) return;
  for (int rank = 0; rank < world_size(); ++rank) {
    if (members_[static_cast<std::size_t>(rank)].attending) {
      actions_.push_back(SendExit{.rank = rank, .code = end.exit_code, .reason = end.message});
    }
  }
  state_ = State::kEnded;
  actions_.push_back(std::move(end));
}

int Generation::ExitCodeFor(const Status& status) const {
  // What was given has been read by then, but for a plan of another model: a file that is gone was the run's own.
  const bool trains = state_ == State::kTraining;
  return status.code() == StatusCode::kInvalidArgument || (IsBadInput(status) && !trains) ? 2 : 1;
}

void Generation::OnFailure(int rank, const Status& status) {
  if (Find(rank) == nullptr || state_ == State::kExiting || first_lost_.has_value()) return;
  Fail(ExitCodeFor(status), NameOf(rank) + ": " + status.message());
}

void Generation::OnDiverged(const std::string& cause) {
  // A death that comes before is the cause.
  if (state_ != State::kTraining || first_lost_.has_value()) return;
  End({.exit_code = 1, .message = cause, .resumable = false, .diverged = true});
}

void Generation::OnOwnFailure(const Status& status) { Fail(ExitCodeFor(status), status.message()); }

void Generation::OnStreamLost(int rank, TimePoint now) {
  Member* member = Find(rank);
  if (member == nullptr || !member->attending) return;
  member->attending = false;
  if (state_ == State::kExiting) return EndIfGone(now);
  if (first_lost_.has_value()) return;
  first_lost_ = rank;
  lost_deadline_ = now + kBlameDelay;
}

void Generation::OnLauncherEnded(const std::string& how, bool by_signal, TimePoint now) {
  if (ended()) return;
  launcher_ended_ = true;
  if (state_ == State::kExiting) return EndIfGone(now);
  if (!by_signal && first_lost_.has_value()) return FailUnexplained(Describe(*first_lost_) + " died");
  if (state_ == State::kRegistering) {
    const std::string missing = Missing(false);
    return FailUnexplained(how + (missing.empty() ? "" : " before registration of " + missing));
  }
  if (by_signal) return FailUnexplained(how);
  launcher_end_ = how;
  lost_deadline_ = now + kLauncherBlameDelay;
}

void Generation::OnStopAsked(TimePoint now) {
  if (ended() || stop_asked_ || state_ == State::kExiting) return;
  stop_asked_ = true;
  if (state_ != State::kTraining) {
    for (int rank = 0; rank < world_size(); ++rank) {
      if (members_[static_cast<std::size_t>(rank)].attending) {
        actions_.push_back(SendExit{.rank = rank, .code = 0, .reason = "stopped"});
      }
    }
    state_ = State::kEnded;
    actions_.push_back(EndRun{.exit_code = 130, .message = "stopped", .resumable = saved_});
    return;
  }
  actions_.push_back(TellStage{"stopping after a checkpoint"});
  ProposePauseIfDue(now);
}

void Generation::OnTick(TimePoint now) {
  if (ended()) return;
  if (state_ == State::kExiting) return EndIfGone(now);
  if (first_lost_.has_value()) {
    if (now >= lost_deadline_) FailUnexplained(Describe(*first_lost_) + " died");
    return;
  }
  if (launcher_end_.has_value()) {
    if (now >= lost_deadline_) FailUnexplained(*launcher_end_);
    return;
  }
  switch (state_) {
    case State::kRegistering:
      if (now >= deadline_)
        FailUnexplained(Missing(false) + " did not register within " + Seconds(options_.register_timeout));
      return;
    case State::kPreparing:
      if (now >= deadline_) Fail(1, Missing(false) + " was not ready within " + Seconds(options_.prepare_timeout));
      return;
    case State::kProfiling:
      if (now >= deadline_) {
        Fail(1, Missing(true) + " did not measure the model within " + Seconds(options_.measure_timeout));
      }
      return;
    case State::kLinking:
      if (now >= deadline_) {
        const auto [worker, peer] = pairs_[next_pair_];
        Fail(1, Describe(worker) + " did not measure its link to " + Describe(peer) + " within " +
                    Seconds(options_.measure_timeout));
      }
      return;
    case State::kTraining:
      break;
    default:
      return;
  }
  if (pause_.has_value() && now >= pause_->deadline) {
    return Fail(1, Missing(false) +
                       (!pause_->committed                             ? " did not answer a pause"
                        : pause_->purpose == PausePurpose::kChangePlan ? " did not change to the new plan"
                                                                       : " did not save a checkpoint") +
                       " within " + Seconds(options_.silence_timeout));
  }
  FailIfSilent(now);
  if (!ended()) ProposePauseIfDue(now);
}

}  // namespace weft
