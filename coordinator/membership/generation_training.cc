// The training of a generation: pauses, verdicts, how it ends. generation.h has the whole.
#include <algorithm>
#include <cmath>
#include <string>

#include "coordinator/membership/generation.h"

namespace weft {

void Generation::Train(TimePoint now) {
  Enter(State::kTraining, now);
  for (Member& member : members_) member.last_word = now;
  iteration_time_ = last_checkpoint_ = now;
  actions_.push_back(TellStage{"training"});
  ToAll(SendTrain{});
}

void Generation::OnIteration(int rank, std::int64_t iteration, double iteration_seconds, TimePoint now) {
  Member* member = Find(rank);
  if (member == nullptr || state_ != State::kTraining) return;
  member->last_word = now;
  iteration_seconds_ = iteration_seconds;
  if (iteration <= iteration_) return;
  iteration_ = iteration;
  iteration_time_ = now;
}

std::optional<std::int64_t> Generation::NextCommonIteration(TimePoint now) const {
  // Reports come in batches: by now the ranks are further than the last one told.
  const double seconds = std::max(iteration_seconds_, 1e-5);
  const double since = ToSeconds(now - iteration_time_);
  const std::int64_t ahead =
      iteration_seconds_ > 0 ? static_cast<std::int64_t>(std::ceil((since + ahead_seconds_) / seconds)) : 1;
  const std::int64_t proposal = std::max(iteration_ + ahead + 1, least_proposal_);
  // The end is nearer than the pause; the final model is saved there.
  if (total_iterations_ > 0 && proposal >= total_iterations_) return std::nullopt;
  return proposal;
}

void Generation::ProposePauseIfDue(TimePoint now) {
  const bool due = options_.checkpoint_interval.count() > 0 && now - last_checkpoint_ >= options_.checkpoint_interval;
  const bool change = plan_ready_ && !stop_asked_ && !due;
  if (pause_.has_value() || finishing_ || (!stop_asked_ && !due && !change)) return;
  if (std::any_of(members_.begin(), members_.end(), [](const Member& member) { return member.finished; })) return;
  std::optional<std::int64_t> proposal = asynchronous_ ? 0 : NextCommonIteration(now);
  if (!proposal.has_value()) return;
  if (change) {
    proposal = ChangeFrom(*proposal);
    if (*proposal >= total_iterations_) return;
  }
  const PausePurpose purpose = stop_asked_ ? PausePurpose::kCheckpointAndStop
                               : change    ? PausePurpose::kChangePlan
                                           : PausePurpose::kCheckpoint;
  pause_ =
      Pause{.iteration = *proposal, .purpose = purpose, .proposed = now, .deadline = now + options_.silence_timeout};
  ClearDelivered();
  ToAll(SendProposePause{.iteration = *proposal});
}

std::int64_t Generation::ChangeFrom(std::int64_t iteration) const {
  if (iterations_per_epoch_ < 1) return iteration;
  const std::int64_t evaluation = (iteration / iterations_per_epoch_ + 1) * iterations_per_epoch_;
  return evaluation - iteration < change_distance_ ? evaluation : iteration;
}

TimePoint Generation::PauseDeadline(std::int64_t iteration, TimePoint now) const {
  const auto ahead = static_cast<double>(std::max<std::int64_t>(iteration - iteration_, 0));
  return now + options_.silence_timeout + FromSeconds(ahead * iteration_seconds_);
}

void Generation::OnPlanReady(std::int64_t distance, TimePoint now) {
  if (state_ != State::kTraining || asynchronous_) return;
  plan_ready_ = true;
  change_distance_ = distance;
  ProposePauseIfDue(now);
}

void Generation::OnSignOfLife(int rank, TimePoint now) {
  if (Member* member = Find(rank); member != nullptr) member->last_word = now;
}

void Generation::OnVote(int rank, std::int64_t iteration, bool accepted, std::int64_t current_iteration,
                        TimePoint now) {
  Member* member = Find(rank);
  if (member == nullptr || state_ != State::kTraining) return;
  member->last_word = now;
  if (!pause_ || pause_->committed || pause_->iteration != iteration) return;
  member->delivered = true;
  pause_->refused = pause_->refused || !accepted;
  pause_->furthest = std::max(pause_->furthest, current_iteration);
  if (!AllDelivered(false)) return;
  if (pause_->refused) {
    ToAll(SendCancelPause{.iteration = iteration});
    ahead_seconds_ = 2 * std::max(ahead_seconds_, ToSeconds(now - pause_->proposed));
    least_proposal_ = std::max(iteration, pause_->furthest) + 2;
    DropPause();
    ProposePauseIfDue(now);
    return;
  }
  pause_->committed = true;
  if (stop_asked_) pause_->purpose = PausePurpose::kCheckpointAndStop;
  pause_->deadline = PauseDeadline(iteration, now);
  ClearDelivered();
  if (pause_->purpose == PausePurpose::kChangePlan) actions_.push_back(TakeNewPlan{.iteration = iteration});
  ToAll(SendCommitPause{.iteration = iteration, .purpose = pause_->purpose});
}

void Generation::OnCheckpoint(int rank, std::int64_t iteration, const std::string& path, TimePoint now) {
  Member* member = Find(rank);
  if (member == nullptr || state_ != State::kTraining) return;
  member->last_word = now;
  if (!pause_ || !pause_->committed || pause_->iteration != iteration) return;
  member->delivered = true;
  saved_ = saved_ || !path.empty();
  if (AllDelivered(false)) EndPause(now);
}

void Generation::EndPause(TimePoint now) {
  const PausePurpose purpose = pause_->purpose;
  iteration_ = std::max(iteration_, pause_->iteration);
  iteration_time_ = now;
  DropPause();
  if (purpose == PausePurpose::kCheckpointAndStop) return Exit(130, "stopped", now);
  if (purpose == PausePurpose::kChangePlan) {
    plan_ready_ = false;
    actions_.push_back(PlanChanged{});
  } else {
    last_checkpoint_ = now;
  }
  FinishTogetherIfDue(now);
}

void Generation::OnEvaluation(std::int64_t iteration, double accuracy, bool final, TimePoint now) {
  if (state_ != State::kTraining) return;
  if (final) {
    final_evaluation_ = true;
    return FinishIfComplete(now);
  }
  if (!options_.target_accuracy.has_value()) return;
  for (Member& member : members_) member.last_word = now;
  ToAll(SendVerdict{.iteration = iteration, .stop = accuracy >= *options_.target_accuracy}, /*workers_only=*/true);
}

void Generation::OnEndReached(int rank, TimePoint now) {
  Member* member = Find(rank);
  if (member == nullptr || state_ != State::kTraining || !IsWorker(rank)) return;
  member->end_reached = true;
  member->last_word = now;
  FinishTogetherIfDue(now);
}

void Generation::FinishTogetherIfDue(TimePoint now) {
  // A pause is carried out first: all of them take part in it.
  if (finishing_ || pause_.has_value()) return;
  if (!std::all_of(members_.begin(), members_.begin() + options_.workers,
                   [](const Member& member) { return member.end_reached; })) {
    return;
  }
  finishing_ = true;
  for (Member& member : members_) member.last_word = now;
  ToAll(SendFinishNow{}, /*workers_only=*/true);
}

void Generation::OnFinished(int rank, TimePoint now) {
  Member* member = Find(rank);
  if (member == nullptr || state_ != State::kTraining || !IsWorker(rank)) return;
  member->finished = true;
  member->last_word = now;
  // Whoever finished will not come to a pause any more.
  if (pause_.has_value() && !pause_->committed) {
    ToAll(SendCancelPause{.iteration = pause_->iteration});
    DropPause();
  }
  FinishIfComplete(now);
}

void Generation::FinishIfComplete(TimePoint now) {
  const bool finished = std::all_of(members_.begin(), members_.begin() + options_.workers,
                                    [](const Member& member) { return member.finished; });
  if (finished && final_evaluation_) Exit(0, "", now);
}

void Generation::FailIfSilent(TimePoint now) {
  const bool all_finished = std::all_of(members_.begin(), members_.begin() + options_.workers,
                                        [](const Member& member) { return member.finished; });
  const TimePoint last_word = std::ranges::max(members_, {}, &Member::last_word).last_word;
  if (all_finished && now - last_word >= options_.silence_timeout) {
    // The writer, which evaluates the final model: the first server, or without servers the first worker.
    return Fail(1, Describe(options_.servers > 0 ? options_.workers : 0) + " has not been heard of for " +
                       Seconds(options_.silence_timeout));
  }
  for (int rank = 0; rank < options_.workers; ++rank) {
    const Member& member = members_[static_cast<std::size_t>(rank)];
    const bool waits = member.finished || (member.end_reached && !finishing_);
    if (!pause_.has_value() && !waits && now - member.last_word >= options_.silence_timeout) {
      return Fail(1, Describe(rank) + " has not been heard of for " + Seconds(options_.silence_timeout));
    }
  }
}

}  // namespace weft
