// When a server with admission lets the next worker use its link: at once when the link is free, else when what is left
// of the transfers under way is about one round trip's worth, so that the grant's way costs no idle time. What a byte
// takes and what a round trip takes are learnt from the transfers; also when a link becomes slower, and ever more
// transfers would be under way by what it took before. Pure; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "common/clock.h"

namespace weft {

class LinkScheduler {
 public:
  // `bytes` are those of one direction; both directions carry as many at the same time.
  void Granted(std::int64_t transfer, std::int64_t bytes, TimePoint now);
  // Both directions have `done_bytes` at least. Ends the transfer when they are all.
  void Progressed(std::int64_t transfer, std::int64_t done_bytes, TimePoint now);

  // From when on the next grant may leave; nothing: not before more progress.
  std::optional<TimePoint> NextGrant() const;

  Duration round_trip() const { return round_trip_; }

 private:
  // More grants than this are never under way, however short the transfers are.
  static constexpr std::size_t kMostInFlight = 16;

  struct Transfer {
    std::int64_t bytes = 0;
    std::int64_t done_bytes = 0;
    TimePoint last{};   // granted, or last progress
    bool alone = true;  // since `last`: its progress tells the link's rate
  };

  // What a piece that went alone tells; `first_piece` since the grant.
  void Learn(bool first_piece, double took_ns, double bytes);
  // `transfer` has ended at `now`: how long behind the one before it, on a link that others kept busy in between.
  void LearnFromEnd(const Transfer& transfer, TimePoint now);

  std::map<std::int64_t, Transfer> active_;
  std::optional<double> ns_per_byte_;
  Duration round_trip_{};
  // Of the transfers that ended so one behind the other, those in a row that took clearly longer than is known.
  std::optional<TimePoint> busy_since_;  // the last end, when the link was not free behind it
  int slower_ends_ = 0;
  double fastest_of_them_ns_ = 0;  // a byte
  double bytes_of_them_ = 0;
};

}  // namespace weft
