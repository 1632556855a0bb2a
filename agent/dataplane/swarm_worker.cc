#include "agent/dataplane/swarm_worker.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "agent/core/update_rule.h"
#include "agent/dataplane/swarm_vectors.h"
#include "common/log.h"

namespace weft {
namespace {

constexpr const char* kCounters = "swarm_counters";
constexpr const char* kRoundStart = "swarm_round_start";
constexpr int kCounterParts = 4;  // of 16 bits, which a float holds exactly
constexpr std::size_t kCounterCount = 4;
// Generations never share a dither key, whatever of the one before was lost.
constexpr int kGenerationShift = 40;

void Append(std::vector<float>& values, std::uint64_t counter) {
  for (int part = 0; part < kCounterParts; ++part) {
    values.push_back(static_cast<float>(counter >> (16 * part) & 0xffff));
  }
}

std::uint64_t CounterAt(std::span<const float> values, std::size_t index) {
  std::uint64_t counter = 0;
  for (std::size_t part = kCounterParts; part-- > 0;) {
    counter = counter << 16 | static_cast<std::uint64_t>(values[index * kCounterParts + part]);
  }
  return counter;
}

bool AreCounters(std::span<const float> values) {
  return std::ranges::all_of(values, [](float v) { return v >= 0 && v <= 0xffff && v == std::floor(v); });
}

}  // namespace

Result<std::unique_ptr<DataPlane>> SwarmWorker::Make(const PeerPlaneParts& parts,
                                                     std::optional<RegisterMechanism> mechanism) {
  std::unique_ptr<SwarmWorker> worker(new SwarmWorker(parts));
  WEFT_RETURN_IF_ERROR(worker->Open(parts, mechanism));
  return std::unique_ptr<DataPlane>(std::move(worker));
}

SwarmWorker::SwarmWorker(const PeerPlaneParts& parts)
    : PeerWorker(parts, /*survive_deaths=*/true),
      local_steps_{.mean = parts.plan.period,
                   .geometric = parts.options.local_steps_distribution == LocalStepsDistribution::kGeometric} {
  if (SlowMomentum::Changes(options_.slow_momentum, options_.slow_rate)) {
    slow_.emplace(options_.slow_momentum, options_.slow_rate, model_.weights.size(), std::span<const float>());
    round_start_.assign(model_.weights.begin(), model_.weights.end());
  }
  DrawRound();
}

Status SwarmWorker::Open(const PeerPlaneParts& parts, std::optional<RegisterMechanism> mechanism) {
  const QuantizerOptions quantizer{
      .bits = parts.plan.quantization_bits, .rotation = options_.rotation, .seed = options_.seed};
  const TimePoint deadline = clock_.Now() + options_.peer_timeout;
  WEFT_ASSIGN_OR_RETURN(
      registers_, parts.transport.MakeRegisters({.ranks = ranks_,
                                                 .bytes = SwarmNode::RegisterBytes(quantizer, model_.weights.size()),
                                                 .mechanism = mechanism},
                                                deadline));
  LogInfo("registers made", {{"mechanism", Name(registers_->mechanism())}, {"reason", registers_->reason()}});
  pace_ = std::make_unique<SwarmPace>(
      SwarmPaceOptions{.max_lead = options_.max_lead, .patience = options_.exchange_timeout},
      options_.topology->neighbours(rank_), *registers_, clock_);
  exchanger_ =
      std::make_unique<SwarmExchanger>(SwarmExchangerOptions{.node = {.rank = rank_,
                                                                      .ranks = ranks_,
                                                                      .quantizer = quantizer,
                                                                      .exchange_timeout = options_.exchange_timeout,
                                                                      .claim_timeout = options_.exchange_timeout},
                                                             .topology = *options_.topology,
                                                             .seed = options_.seed,
                                                             .first_key = options_.generation << kGenerationShift},
                                       model_.weights, *registers_, clock_);
  WEFT_RETURN_IF_ERROR(exchanger_->Park(deadline));
  WEFT_RETURN_IF_ERROR(exchanger_->node().Publish().WithContext("the initial weights"));
  // Nobody reads before everybody has published.
  WEFT_RETURN_IF_ERROR(exchange_.Barrier());
  exchanger_->Resume();
  return OkStatus();
}

void SwarmWorker::DrawRound() { steps_left_ = DrawLocalSteps(local_steps_, options_.seed, rank_, rounds_++); }

Status SwarmWorker::BeginIteration(std::int64_t iteration) {
  WEFT_RETURN_IF_ERROR(PeerWorker::BeginIteration(iteration));
  if (exchanger_->has_restored()) {
    const SwarmExchanger::Changes changes = exchanger_->TakeChanges();
    Restore(changes, iteration - 1);
    if (changes.change) Add(*changes.change);
  }
  return exchanger_->failure();
}

Status SwarmWorker::GradientReady(int layer, std::int64_t samples) {
  Step(layer, samples);
  return OkStatus();
}

Result<IterationRecord> SwarmWorker::EndIteration() {
  WEFT_RETURN_IF_ERROR(exchanger_->failure());
  pace_->Tell(iteration_);
  if (--steps_left_ == 0) {
    const TimePoint start = clock_.Now();
    EndRound();
    DrawRound();
    CountStall(clock_.Now() - start, -1);
  }
  RecordExchanges();
  SwarmTraffic traffic = exchanger_->counts().traffic;
  traffic.received_bytes += pace_->traffic().received_bytes;
  WEFT_ASSIGN_OR_RETURN(IterationRecord record, PeerWorker::EndIteration());
  record.sent_bytes += traffic.sent_bytes - std::exchange(recorded_sent_bytes_, traffic.sent_bytes);
  record.received_bytes += traffic.received_bytes - std::exchange(recorded_received_bytes_, traffic.received_bytes);
  return record;
}

// The only pass over the weights that is outside of compute.
void SwarmWorker::EndRound() {
  if (slow_) StepOuter();
  exchanger_->AwaitInteraction(clock_.Now() + options_.exchange_timeout);
  pace_->Await(iteration_);
  SwarmExchanger::Changes changes = exchanger_->TakeChanges();
  Restore(changes, iteration_);
  std::vector<float> copy = exchanger_->TakeBuffer();
  const std::span<float> weights = model_.weights;
  if (changes.change) {
    AddAndCopy(weights, *changes.change, copy);
  } else {
    std::ranges::copy(weights, copy.begin());
  }
  if (slow_) round_start_ = copy;
  exchanger_->LeaveWeights(std::move(copy), std::move(changes));
}

// The displacement of this round's local steps goes through the outer optimizer.
void SwarmWorker::StepOuter() {
  const std::span<float> weights = model_.weights;
  SubtractInto(weights, round_start_);
  slow_->StepDisplacement({.first = 0, .count = static_cast<std::int64_t>(weights.size())}, weights,
                          options_.learning_rate(iteration_));
  AddInto(weights, round_start_);
}

void SwarmWorker::Restore(const SwarmExchanger::Changes& changes, std::int64_t iteration) {
  if (!changes.restored) return;
  std::ranges::copy(*changes.restored, model_.weights.begin());
  if (slow_) round_start_ = *changes.restored;
  ForgetOptimizers(iteration);
}

void SwarmWorker::ForgetOptimizers(std::int64_t iteration) {
  if (slow_) slow_.emplace(options_.slow_momentum, options_.slow_rate, model_.weights.size(), std::span<const float>());
  if (options_.reset_optimizer) options_.reset_optimizer(iteration);
}

void SwarmWorker::Add(const std::vector<float>& change) {
  AddInto(model_.weights, change);
  if (slow_) AddInto(round_start_, change);
}

Status SwarmWorker::SettleNode(NotFinite weights) {
  SwarmNode& node = exchanger_->node();
  const SwarmExchanger::Changes changes = exchanger_->TakeChanges();
  // What would be restored is for weights that were not finite, and are not since.
  if (weights == NotFinite::kRestore) Restore(changes, iteration_);
  if (changes.change) Add(*changes.change);
  node.Fold();
  if (node.changed()) Add(node.ReleaseChange());
  if (!node.Rebase(model_.weights)) {
    node.CountNotFinite();
    if (weights == NotFinite::kRestore) {
      LogWarning("the weights are not finite: going on with the last model that was published", {{"rank", rank_}});
      std::ranges::copy(node.model(), model_.weights.begin());
      if (slow_) round_start_.assign(model_.weights.begin(), model_.weights.end());
      ForgetOptimizers(iteration_);
    }
  }
  WEFT_RETURN_IF_ERROR(node.Publish());
  saved_key_ = node.next_key();
  saved_draws_ = exchanger_->draws();
  return OkStatus();
}

Status SwarmWorker::Drain() { return DrainAll(NotFinite::kRestore); }

Status SwarmWorker::DrainAll(NotFinite weights) {
  WEFT_RETURN_IF_ERROR(exchange_.status());
  WEFT_RETURN_IF_ERROR(exchanger_->Park(clock_.Now() + options_.peer_timeout));
  WEFT_RETURN_IF_ERROR(exchange_.Barrier());  // nobody has a delta on its way any more
  WEFT_RETURN_IF_ERROR(SettleNode(weights));
  WEFT_RETURN_IF_ERROR(exchange_.Barrier());  // nobody is changed by one that goes on already
  exchanger_->Resume();
  return OkStatus();
}

// Weights that are not finite are what this worker's training has come to: they are to be seen, not to be replaced by
// those of an iteration long ago.
Status SwarmWorker::Finish() {
  WEFT_RETURN_IF_ERROR(DrainAll(NotFinite::kKeep));
  WEFT_RETURN_IF_ERROR(exchanger_->Park(clock_.Now() + options_.peer_timeout));
  return exchange_.Goodbye();
}

void SwarmWorker::RecordExchanges() {
  for (const SwarmExchange& one : exchanger_->TakeExchanges()) {
    record_.transfers.push_back({.group = 0,
                                 .server = one.partner,
                                 .slot = 0,
                                 .round = recorded_exchanges_++,
                                 .planned_start = one.start,
                                 .start = one.start,
                                 .granted = one.start,
                                 .end = one.finish,
                                 .push_bytes = one.traffic.sent_bytes,
                                 .pull_bytes = one.traffic.received_bytes});
  }
}

ExchangeStatistics SwarmWorker::Statistics() const {
  const SwarmCounts counts = exchanger_->counts();
  ExchangeStatistics statistics;
  for (int end = 0; end < kInteractionEnds; ++end) {
    statistics.interactions.emplace_back(Name(static_cast<InteractionEnd>(end)),
                                         counts.interactions[static_cast<std::size_t>(end)]);
  }
  statistics.further_digit_blocks = counts.further_digit_blocks;
  statistics.raw_blocks = counts.raw_blocks;
  statistics.quantizer_distance = counts.quantizer_distance;
  statistics.largest_staleness = counts.largest_staleness;
  statistics.mechanism = Name(registers_->mechanism());
  statistics.mechanism_reason = registers_->reason();
  return statistics;
}

std::vector<PlaneTensor> SwarmWorker::SaveState() const {
  std::vector<PlaneTensor> tensors;
  std::vector<float> counters;
  Append(counters, saved_key_);
  Append(counters, saved_draws_);
  Append(counters, rounds_);
  Append(counters, static_cast<std::uint64_t>(steps_left_));
  tensors.push_back({.name = kCounters, .values = std::move(counters)});
  if (slow_) {
    slow_->Save(tensors);
    tensors.push_back({.name = kRoundStart, .values = round_start_});
  }
  return tensors;
}

Status SwarmWorker::RestoreState(std::int64_t iteration, const std::vector<PlaneTensor>& tensors) {
  iteration_ = iteration;
  pace_->Tell(iteration_);
  WEFT_RETURN_IF_ERROR(exchanger_->Park(clock_.Now() + options_.peer_timeout));
  if (!tensors.empty()) WEFT_RETURN_IF_ERROR(RestoreTensors(tensors));
  WEFT_RETURN_IF_ERROR(SettleNode(NotFinite::kRestore));
  exchanger_->Resume();
  return OkStatus();
}

Status SwarmWorker::RestoreTensors(const std::vector<PlaneTensor>& tensors) {
  WEFT_ASSIGN_OR_RETURN(const std::span<const float> counters,
                        TensorOf(tensors, kCounters, kCounterCount * kCounterParts));
  const std::uint64_t steps_left = AreCounters(counters) ? CounterAt(counters, 3) : 0;
  if (steps_left == 0 || steps_left > 0x7fffffff) {
    return InvalidArgumentError(std::string("checkpoint: plane tensor ") + kCounters + " holds no counters");
  }
  if (slow_) {
    WEFT_RETURN_IF_ERROR(slow_->Restore(tensors));
    WEFT_ASSIGN_OR_RETURN(const std::span<const float> start, TensorOf(tensors, kRoundStart, round_start_.size()));
    round_start_.assign(start.begin(), start.end());
  }
  SwarmNode& node = exchanger_->node();
  node.SkipKeys(std::max(node.next_key(), CounterAt(counters, 0)));
  exchanger_->SkipDraws(CounterAt(counters, 1));
  rounds_ = CounterAt(counters, 2);
  steps_left_ = static_cast<int>(steps_left);
  return OkStatus();
}

}  // namespace weft
