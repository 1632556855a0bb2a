#include "coordinator/service/rank_board.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "coordinator/service/run_statistics.h"

namespace weft {
namespace {

constexpr std::int64_t kRecentNs = 1'000'000'000;
constexpr double kSecondsPerNs = 1e-9;

}  // namespace

RankBoard::RankBoard(int workers, int servers, TimePoint now)
    : workers_(static_cast<std::size_t>(workers)), ranks_(static_cast<std::size_t>(workers + servers)) {
  for (Rank& rank : ranks_) rank.heard = now;
}

void RankBoard::AddReport(Rank* rank, const v1::IterationReport& report, TimePoint now) {
  rank->iteration = std::max(rank->iteration, report.iteration());
  Iteration iteration{.start_ns = report.start_ns(),
                      .end_ns = report.end_ns(),
                      .stall_ns = report.stall_ns(),
                      .sent_bytes = report.sent_bytes(),
                      .received_bytes = report.received_bytes(),
                      .samples = report.samples(),
                      .staleness = report.staleness_iterations()};
  for (const v1::Transfer& transfer : report.transfers()) {
    const std::size_t at = workers_ + transfer.server();
    if (at >= ranks_.size()) continue;  // a plane without servers
    iteration.servers.resize(ranks_.size() - workers_);
    iteration.servers[transfer.server()].push_bytes += transfer.push_bytes();
    iteration.servers[transfer.server()].pull_bytes += transfer.pull_bytes();
    Rank& server = ranks_[at];
    server.heard = now;
    if (server.state != v1::RANK_STATE_ENDED) server.state = v1::RANK_STATE_TRAINING;
  }
  rank->recent.push_back(std::move(iteration));
  while (rank->recent.front().end_ns < report.end_ns() - kRecentNs) rank->recent.pop_front();
}

void RankBoard::AddLink(Rank* rank, const v1::LinkResult& link) {
  for (const v1::LinkSample& sample : link.samples()) {
    if (sample.seconds() <= 0) continue;
    const double rate = static_cast<double>(sample.bytes()) / sample.seconds();
    rank->link_bytes_per_second = std::max(rank->link_bytes_per_second, rate);
    if (link.peer_rank() >= ranks_.size()) continue;
    Rank& peer = ranks_[link.peer_rank()];
    peer.link_bytes_per_second = std::max(peer.link_bytes_per_second, rate);
  }
}

void RankBoard::Add(int number, const v1::AgentMessage& message, TimePoint now) {
  Rank& rank = ranks_[static_cast<std::size_t>(number)];
  rank.heard = now;
  switch (message.message_case()) {
    case v1::AgentMessage::kReady:
      rank.state = v1::RANK_STATE_READY;
      return;
    case v1::AgentMessage::kLink:
      AddLink(&rank, message.link());
      [[fallthrough]];
    case v1::AgentMessage::kProfile:
      rank.state = v1::RANK_STATE_MEASURED;
      return;
    case v1::AgentMessage::kIterations:
      rank.state = v1::RANK_STATE_TRAINING;
      for (const v1::IterationReport& report : message.iterations().reports()) AddReport(&rank, report, now);
      return;
    case v1::AgentMessage::kEvaluationProgress:
      rank.state = v1::RANK_STATE_EVALUATING;
      return;
    case v1::AgentMessage::kPauseVote:
    case v1::AgentMessage::kCheckpoint:
      rank.state = v1::RANK_STATE_PAUSED;
      return;
    case v1::AgentMessage::kEndReached:
    case v1::AgentMessage::kFinished:
      rank.state = v1::RANK_STATE_ENDED;
      return;
    case v1::AgentMessage::kFailure:
    case v1::AgentMessage::kDiverged:
      rank.state = v1::RANK_STATE_FAILED;
      return;
    case v1::AgentMessage::kRegister:
    case v1::AgentMessage::kEvaluation:
    case v1::AgentMessage::kServer:
    case v1::AgentMessage::kSketch:
    case v1::AgentMessage::kExchange:
    case v1::AgentMessage::MESSAGE_NOT_SET:
      return;
  }
}

double RankBoard::SpanOf(const Rank& rank) {
  if (rank.recent.empty()) return 0;
  return static_cast<double>(rank.recent.back().end_ns - rank.recent.front().start_ns) * kSecondsPerNs;
}

void RankBoard::DescribeRecent(const Rank& rank, v1::RankProgress* told) const {
  const double span = SpanOf(rank);
  if (span <= 0) return;
  Iteration sum;
  std::vector<double> seconds;
  for (const Iteration& one : rank.recent) {
    seconds.push_back(static_cast<double>(one.end_ns - one.start_ns) * kSecondsPerNs);
    sum.stall_ns += one.stall_ns;
    sum.sent_bytes += one.sent_bytes;
    sum.received_bytes += one.received_bytes;
    sum.staleness += one.staleness;
  }
  told->set_iteration_seconds(QuantilesOf(std::move(seconds)).median);
  told->set_staleness_iterations(sum.staleness / static_cast<double>(rank.recent.size()));
  told->set_stall_fraction(static_cast<double>(sum.stall_ns) * kSecondsPerNs / span);
  told->set_sent_bytes_per_second(static_cast<double>(sum.sent_bytes) / span);
  told->set_received_bytes_per_second(static_cast<double>(sum.received_bytes) / span);
}

void RankBoard::Fill(TimePoint now, v1::Progress* progress) const {
  for (const Rank& rank : ranks_) {
    v1::RankProgress& told = *progress->add_ranks();
    told.set_state(rank.state);
    told.set_iteration(rank.iteration);
    told.set_link_bytes_per_second(rank.link_bytes_per_second);
    told.set_silent_seconds(std::chrono::duration<double>(now - rank.heard).count());
    DescribeRecent(rank, &told);
  }
  double samples_per_second = 0;
  for (std::size_t worker = 0; worker < workers_; ++worker) {
    const double span = SpanOf(ranks_[worker]);
    if (span <= 0) continue;
    for (const Iteration& one : ranks_[worker].recent) {
      samples_per_second += static_cast<double>(one.samples) / span;
      for (std::size_t server = 0; server < one.servers.size(); ++server) {
        // What a worker pushes its server receives.
        v1::RankProgress& told = *progress->mutable_ranks(static_cast<int>(workers_ + server));
        const Exchanged& bytes = one.servers[server];
        told.set_received_bytes_per_second(told.received_bytes_per_second() +
                                           static_cast<double>(bytes.push_bytes) / span);
        told.set_sent_bytes_per_second(told.sent_bytes_per_second() + static_cast<double>(bytes.pull_bytes) / span);
      }
    }
  }
  progress->set_samples_per_second(samples_per_second);
}

}  // namespace weft
