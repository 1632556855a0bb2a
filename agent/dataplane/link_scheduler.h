// When a server with admission lets the next worker use its link: at once when the link is free, else when what is left
// of the transfers under way is about one round trip's worth, so that the grant's way costs no idle time. What a byte
// takes and what a round trip takes are learnt from the transfers. Pure; one thread.
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

  std::map<std::int64_t, Transfer> active_;
  std::optional<double> ns_per_byte_;
  Duration round_trip_{};
};

}  // namespace weft
