#include "agent/dataplane/link_scheduler.h"

#include <algorithm>

#include "common/check.h"

namespace weft {
namespace {

constexpr double kSmoothing = 0.25;
// The link has become slower when this many transfers in a row took this much longer than is known.
constexpr int kSlowerEnds = 8;
constexpr double kClearlySlower = 1.1;
// What smaller ones take is more the messages' than the bytes'.
constexpr std::int64_t kTellingBytes = 4096;
constexpr Duration kLongestRoundTrip = std::chrono::milliseconds(10);

}  // namespace

void LinkScheduler::Granted(std::int64_t transfer, std::int64_t bytes, TimePoint now) {
  const bool alone = active_.empty();
  active_[transfer] = {.bytes = bytes, .done_bytes = 0, .last = now, .alone = alone};
}

void LinkScheduler::Progressed(std::int64_t transfer, std::int64_t done_bytes, TimePoint now) {
  const auto it = active_.find(transfer);
  WEFT_CHECK(it != active_.end()) << "transfer " << transfer;
  Transfer& t = it->second;
  const std::int64_t step = done_bytes - t.done_bytes;
  if (step <= 0) return;  // one direction is ahead of the other
  if (t.alone) Learn(t.done_bytes == 0, static_cast<double>((now - t.last).count()), static_cast<double>(step));
  t.done_bytes = done_bytes;
  t.last = now;
  t.alone = active_.size() == 1;
  if (t.done_bytes < t.bytes) return;
  LearnFromEnd(t, now);
  active_.erase(it);
  busy_since_ = active_.empty() ? std::nullopt : std::optional(now);
}

// While transfers overlap none of them goes alone, and what is known is too fast once the link is slower: each next
// grant would leave too early, and more and more would be under way. One behind the other they still tell the link's
// rate.
void LinkScheduler::LearnFromEnd(const Transfer& transfer, TimePoint now) {
  if (!busy_since_ || !ns_per_byte_ || transfer.bytes < kTellingBytes) return;
  const auto bytes = static_cast<double>(transfer.bytes);
  const double sample = static_cast<double>((now - *busy_since_).count()) / bytes;
  if (sample <= kClearlySlower * *ns_per_byte_) {
    slower_ends_ = 0;
    return;
  }
  fastest_of_them_ns_ = slower_ends_ == 0 ? sample : std::min(fastest_of_them_ns_, sample);
  bytes_of_them_ = (slower_ends_ == 0 ? 0 : bytes_of_them_) + bytes;
  if (++slower_ends_ < kSlowerEnds) return;
  // What was taken for a round trip was the slower link's.
  const double wrong_ns = (fastest_of_them_ns_ - *ns_per_byte_) * bytes_of_them_ / slower_ends_;
  round_trip_ = std::max(Duration{}, round_trip_ - Duration(static_cast<Duration::rep>(wrong_ns)));
  ns_per_byte_ = fastest_of_them_ns_;
  slower_ends_ = 0;
}

void LinkScheduler::Learn(bool first_piece, double took_ns, double bytes) {
  if (!first_piece) {
    const double sample = took_ns / bytes;
    ns_per_byte_ = ns_per_byte_ ? *ns_per_byte_ + kSmoothing * (sample - *ns_per_byte_) : sample;
    return;
  }
  // A first piece's time holds a round trip too. As the rate it is too slow, so the fastest is the closest; what the
  // others take longer than that is the round trip, which many short transfers can only hide if it is known.
  if (!ns_per_byte_ || took_ns / bytes < *ns_per_byte_) {
    ns_per_byte_ = took_ns / bytes;
    return;
  }
  const double trip_ns = std::min(took_ns - *ns_per_byte_ * bytes, static_cast<double>(kLongestRoundTrip.count()));
  const auto before = static_cast<double>(round_trip_.count());
  round_trip_ = Duration(static_cast<Duration::rep>(before + kSmoothing * (trip_ns - before)));
}

std::optional<TimePoint> LinkScheduler::NextGrant() const {
  if (active_.empty()) return TimePoint{};
  if (!ns_per_byte_ || active_.size() >= kMostInFlight) return std::nullopt;
  double left_bytes = 0;
  TimePoint since = TimePoint::max();
  for (const auto& [id, t] : active_) {
    left_bytes += static_cast<double>(t.bytes - t.done_bytes);
    // Before its first piece a transfer is still on the grant's way.
    since = std::min(since, t.done_bytes > 0 ? t.last : t.last + round_trip_);
  }
  // Until the last one ended the link carried that one.
  if (busy_since_) since = std::max(since, *busy_since_);
  return since + Duration(static_cast<Duration::rep>(left_bytes * *ns_per_byte_)) - round_trip_;
}

}  // namespace weft
