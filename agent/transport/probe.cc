#include "agent/transport/probe.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <span>
#include <string>

#include "agent/transport/outcome.h"

namespace weft {
namespace {

constexpr std::int64_t kSmallestBytes = 1 << 10;
constexpr std::int64_t kLargestBytes = 16 << 20;
constexpr int kGrowth = 4;
constexpr double kLongestRoundSeconds = 0.3;
constexpr double kSecondsPerSize = 0.15;
constexpr std::int64_t kMostRounds = 10;
constexpr std::int64_t kFewestRounds = 2;

// From the pinger, before the rounds of each size. Both ranks are of one program on one kind of machine.
struct Announcement {
  std::int64_t bytes = 0;
  std::int64_t rounds = 0;  // 0: that was all
};

Tag AnnouncementTag() { return Tag(MessageKind::kProbe, 0, 0); }
Tag PingTag() { return Tag(MessageKind::kProbe, 1, 0); }
Tag PongTag() { return Tag(MessageKind::kProbe, 2, 0); }

// The rounds of one size. They follow each other on the transport's thread, so that no hand-over to another is timed.
class Pinger {
 public:
  Pinger(Transport& transport, int peer, const Clock& clock, std::int64_t bytes, std::int64_t rounds)
      : transport_(transport),
        peer_(peer),
        clock_(clock),
        rounds_(rounds),
        out_(static_cast<std::size_t>(bytes)),
        in_(static_cast<std::size_t>(bytes)) {}

  // The fastest round trip in seconds.
  Result<double> Run(TimePoint deadline) {
    Begin();
    WEFT_RETURN_IF_ERROR(outcome_.Await(transport_, deadline, "measuring the link to rank " + std::to_string(peer_)));
    return fastest_seconds_;
  }

 private:
  void Begin() {
    pending_ = 2;
    start_ = clock_.Now();
    transport_.Receive(peer_, PongTag(), in_, [this](const Status& status) {
      const double seconds = ToSeconds(clock_.Now() - start_);
      if (status.ok()) fastest_seconds_ = std::min(fastest_seconds_, seconds);
      EndOne(status);
    });
    transport_.Send(peer_, PingTag(), out_, [this](const Status& status) { EndOne(status); });
  }

  void EndOne(const Status& status) {
    if (error_.ok()) error_ = status;
    if (--pending_ > 0) return;
    if (!error_.ok() || --rounds_ == 0) {
      outcome_.Set(error_);
    } else {
      Begin();
    }
  }

  Transport& transport_;
  const int peer_;
  const Clock& clock_;

  // Of the calling thread until the first operation is posted, then of the transport's, until outcome_ is set.
  std::int64_t rounds_;
  int pending_ = 0;  // operations of this round
  TimePoint start_{};
  double fastest_seconds_ = std::numeric_limits<double>::infinity();
  Status error_;
  std::vector<std::byte> out_;
  std::vector<std::byte> in_;

  Outcome outcome_;
};

// Sends back what the pinger sends.
class Ponger {
 public:
  Ponger(Transport& transport, int peer, std::int64_t bytes, std::int64_t rounds)
      : transport_(transport), peer_(peer), rounds_(rounds), ball_(static_cast<std::size_t>(bytes)) {}

  Status Run(TimePoint deadline) {
    Begin();
    return outcome_.Await(transport_, deadline, "measuring the link to rank " + std::to_string(peer_));
  }

 private:
  void Begin() {
    transport_.Receive(peer_, PingTag(), ball_, [this](const Status& received) {
      if (!received.ok()) return outcome_.Set(received);
      transport_.Send(peer_, PongTag(), ball_, [this](const Status& sent) {
        if (!sent.ok() || --rounds_ == 0) return outcome_.Set(sent);
        Begin();
      });
    });
  }

  Transport& transport_;
  const int peer_;
  std::int64_t rounds_;  // as in Pinger
  std::vector<std::byte> ball_;
  Outcome outcome_;
};

Status Announce(Transport& transport, int peer, Announcement announcement, TimePoint deadline) {
  return SendAndWait(transport, peer, AnnouncementTag(), std::as_bytes(std::span(&announcement, 1)), deadline);
}

}  // namespace

Result<std::vector<ProbeSample>> ProbeAsPinger(Transport& transport, int peer, const Clock& clock, TimePoint deadline) {
  const auto measure = [&](std::int64_t bytes, std::int64_t rounds) -> Result<double> {
    WEFT_RETURN_IF_ERROR(Announce(transport, peer, {.bytes = bytes, .rounds = rounds}, deadline));
    return Pinger(transport, peer, clock, bytes, rounds).Run(deadline);
  };
  // The first messages between two ranks also make their connection.
  WEFT_ASSIGN_OR_RETURN(double round_seconds, measure(1, kFewestRounds));
  std::vector<ProbeSample> samples;
  for (std::int64_t bytes = kSmallestBytes; bytes <= kLargestBytes; bytes *= kGrowth) {
    const double expected_seconds = round_seconds * (samples.empty() ? 1 : kGrowth);
    if (samples.size() >= 2 && expected_seconds > kLongestRoundSeconds) break;
    const double affordable = kSecondsPerSize / std::max(expected_seconds, 1e-9);
    const std::int64_t rounds = affordable >= static_cast<double>(kMostRounds)
                                    ? kMostRounds
                                    : std::max(kFewestRounds, static_cast<std::int64_t>(affordable));
    WEFT_ASSIGN_OR_RETURN(round_seconds, measure(bytes, rounds));
    samples.push_back({.bytes = bytes, .seconds = round_seconds / 2});
  }
  WEFT_RETURN_IF_ERROR(Announce(transport, peer, {}, deadline));
  return samples;
}

Status ProbeAsPonger(Transport& transport, int peer, TimePoint deadline) {
  while (true) {
    Announcement announcement;
    WEFT_RETURN_IF_ERROR(ReceiveAndWait(transport, peer, AnnouncementTag(),
                                        std::as_writable_bytes(std::span(&announcement, 1)), deadline));
    if (announcement.rounds == 0) return OkStatus();
    if (announcement.bytes < 0 || announcement.bytes > kLargestBytes || announcement.rounds < 0) {
      return DataLossError("rank " + std::to_string(peer) + " announces " + std::to_string(announcement.rounds) +
                           " rounds of " + std::to_string(announcement.bytes) + " bytes");
    }
    WEFT_RETURN_IF_ERROR(Ponger(transport, peer, announcement.bytes, announcement.rounds).Run(deadline));
  }
}

}  // namespace weft
