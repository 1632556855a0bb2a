// A node's queue of deltas: eight cells, to which others append and which the owner folds into its model
// (docs/format/swarm-registers.md). Lock-free, and no delta is lost or counts twice:
//
//   writer   takes a free cell: its bit in the claims word was 0 before its fetch-and-or; writes the cell; adds kReady
//            to the seat word. What that word was before says whether the delta counts: it does unless kClosed was
//            there. Only then does the writer subtract it from its own model. Where the claims word shows that another
//            has come since the writer read the model, its delta would rest on an old one: it gives the cell back.
//   owner    folds ready cells, publishes the model with them, and then frees them: the seat word's use goes up, the
//            claim's bit down. A cell that has been claimed for too long it closes (fetch-and-or of kClosed; if kReady
//            was there before, the delta counts after all). A closed cell is free again when its writer has reported;
//            until then that writer may still be writing to it. One whose writer is dead stays closed until the
//            membership changes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "agent/core/quantizer.h"
#include "agent/dataplane/swarm_layout.h"
#include "agent/dataplane/swarm_register.h"
#include "agent/transport/registers.h"
#include "common/clock.h"
#include "common/status.h"

namespace weft {

// The owner's side. One thread calls.
class SwarmQueue {
 public:
  // A cell that is claimed for `claim_timeout` without a delta is closed.
  SwarmQueue(const SwarmAccess& access, int rank, Duration claim_timeout);

  // Deltas that wait.
  int ready() const;
  // Adds one that waits to each of the vectors. False: there is none.
  bool Fold(Quantizer& quantizer, std::span<const std::span<float>> sums);
  // The state word's half for a publication of all that is folded, and what frees those cells after it.
  std::uint32_t next_uses() const;
  void Published();
  // True: a cell is claimed whose delta is not folded, so that the owner's model is about to change.
  bool disturbed() const;
  // Closes what was claimed too long ago. To be called from time to time.
  void CloseStale(TimePoint now);

  std::int64_t folded() const { return folded_; }
  std::int64_t closed() const { return closed_; }    // ones that count no more
  std::int64_t refused() const { return refused_; }  // deltas that are whole, but none of this size and code

 private:
  struct Cell {
    int use = 0;
    bool folded = false;  // not free yet
    bool closed = false;
    int unreadable = 0;  // looks at it that have not matched its checksum
    std::optional<TimePoint> claimed_since;
    std::optional<SwarmOperation> closing;
  };

  SeatWord SeatOf(int cell) const;
  void Free(int cell, int use);
  void FinishClosing(int index, Cell& cell);

  const SwarmAccess access_;
  const int rank_;
  const Duration claim_timeout_;
  std::array<Cell, kSwarmCells> cells_;
  std::vector<std::byte> copy_;
  std::uint64_t freed_ = 0;  // claim bits to take away
  std::int64_t folded_ = 0;
  std::int64_t closed_ = 0;
  std::int64_t refused_ = 0;
};

// Appends one delta to a partner's queue. Messages: a fetch to claim, one put, and a fetch that makes it count; or two
// fetches, when it gives the cell back. Goes on, however late, until it knows whether the delta counts. One thread
// calls.
class SwarmAppend {
 public:
  // `claims` is the claims word that was read with the partner's model; `cell` holds layout.cell_bytes() with the delta
  // at kWordBytes; the other words are filled in here. `number` counts the writer's deltas. `own` is the writer's
  // queue, in which nothing waits now.
  SwarmAppend(const SwarmAccess& access, int writer, int partner, std::uint64_t claims, std::uint64_t number,
              SharedBytes cell, const SwarmQueue& own);

  // kConflict: either model has changed since the delta was computed.
  enum class End { kAppended, kConflict, kFull, kClosed, kFailed };
  // Goes on as far as this is possible without waiting. True: it has ended.
  bool Step();
  End end() const { return end_; }
  const Status& status() const { return status_; }  // of kFailed: UNAVAILABLE, CANCELLED
  const SwarmTraffic& traffic() const { return traffic_; }

 private:
  enum class Stage { kClaim, kRelease, kWrite, kReady, kEnded };

  void TakeClaim(std::uint64_t before);
  void Fetch(Stage stage, std::size_t offset, FetchOperation operation, std::uint64_t operand);
  void EndWith(End end);

  const SwarmAccess access_;
  const int writer_;
  const int partner_;
  const std::uint64_t claims_;
  const SharedBytes bytes_;
  const SwarmQueue& own_;
  std::uint64_t checksum_ = 0;
  Stage stage_ = Stage::kClaim;
  int cell_ = -1;
  std::optional<SwarmOperation> operation_;
  End end_ = End::kFull;
  Status status_;
  SwarmTraffic traffic_;
};

}  // namespace weft
