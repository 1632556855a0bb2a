#include "agent/dataplane/swarm_queue.h"

#include <string>
#include <utility>

#include "common/log.h"

namespace weft {
namespace {

// A cell that is ready was written whole before; so one that does not match its checksum is broken for good.
constexpr int kLooksAtUnreadable = 8;

constexpr std::uint64_t BitOf(int cell) { return std::uint64_t{1} << cell; }
constexpr std::size_t SeatOffset(int cell) { return kSeatsOffset + static_cast<std::size_t>(cell) * kWordBytes; }

}  // namespace

SwarmQueue::SwarmQueue(const SwarmAccess& access, int rank, Duration claim_timeout)
    : access_(access), rank_(rank), claim_timeout_(claim_timeout), copy_(access.layout.cell_bytes()) {}

SeatWord SwarmQueue::SeatOf(int cell) const {
  return SeatWord::From(LoadWord(access_.registers.local(), SeatOffset(cell)));
}

int SwarmQueue::ready() const {
  int count = 0;
  for (int i = 0; i < kSwarmCells; ++i) {
    const Cell& cell = cells_[static_cast<std::size_t>(i)];
    if (!cell.folded && !cell.closed && !cell.closing && SeatOf(i).ready) ++count;
  }
  return count;
}

bool SwarmQueue::Fold(Quantizer& quantizer, std::span<const std::span<float>> sums) {
  for (int i = 0; i < kSwarmCells; ++i) {
    Cell& cell = cells_[static_cast<std::size_t>(i)];
    if (cell.folded || cell.closed || cell.closing) continue;
    const SeatWord seat = SeatOf(i);
    if (!seat.ready) continue;
    LoadWords(access_.registers.local().subspan(access_.layout.CellOffset(i), copy_.size()), copy_);
    if (!access_.layout.CellIsWhole(copy_, seat.tag) && ++cell.unreadable < kLooksAtUnreadable) continue;
    const auto delta = std::span<const std::byte>(copy_).subspan(kWordBytes, access_.layout.delta_bytes());
    Status status = cell.unreadable < kLooksAtUnreadable ? OkStatus() : DataLossError("its checksum does not match");
    for (const std::span<float> sum : sums) {
      if (status.ok()) status = quantizer.AddDelta(delta, sum);
    }
    cell.folded = true;
    cell.unreadable = 0;
    if (status.ok()) {
      ++folded_;
      return true;
    }
    ++refused_;
    LogWarning("delta refused", {{"from", seat.writer}, {"cell", i}, {"error", status.message()}});
  }
  return false;
}

std::uint32_t SwarmQueue::next_uses() const {
  std::uint32_t uses = 0;
  for (int i = 0; i < kSwarmCells; ++i) {
    const Cell& cell = cells_[static_cast<std::size_t>(i)];
    uses |= static_cast<std::uint32_t>((cell.use + (cell.folded ? 1 : 0)) & 15) << (4 * i);
  }
  return uses;
}

void SwarmQueue::Free(int index, int use) {
  cells_[static_cast<std::size_t>(index)] = {};
  cells_[static_cast<std::size_t>(index)].use = use;
  StoreWord(access_.registers.local(), SeatOffset(index), SeatWord::Free(use));
  freed_ |= BitOf(index);
}

void SwarmQueue::Published() {
  for (int i = 0; i < kSwarmCells; ++i) {
    const Cell& cell = cells_[static_cast<std::size_t>(i)];
    if (cell.folded) Free(i, (cell.use + 1) & 0xffff);
  }
  if (freed_ == 0) return;
  // Only this node takes these bits away, so that nothing depends on when it is done.
  SwarmOperation::Fetch(access_.registers, rank_, kClaimsOffset, FetchOperation::kAnd, ~freed_, access_.waker);
  freed_ = 0;
}

// What the seat word was before decides.
void SwarmQueue::FinishClosing(int index, Cell& cell) {
  if (!cell.closing->ended()) return;
  const SwarmOperation closing = *std::exchange(cell.closing, std::nullopt);
  cell.claimed_since.reset();
  if (!closing.status().ok() || SeatWord::From(closing.value()).ready) return;  // it counts: readers wait for its fold
  cell.closed = true;
  ++closed_;
  LogWarning("cell of the queue closed", {{"cell", index}, {"claimed_for_s", ToSeconds(claim_timeout_)}});
}

bool SwarmQueue::disturbed() const {
  const std::uint64_t claims = LoadWord(access_.registers.local(), kClaimsOffset);
  for (int i = 0; i < kSwarmCells; ++i) {
    const Cell& cell = cells_[static_cast<std::size_t>(i)];
    if ((claims & BitOf(i)) != 0 && !cell.folded && !cell.closed) return true;
  }
  return false;
}

void SwarmQueue::CloseStale(TimePoint now) {
  const std::uint64_t claims = LoadWord(access_.registers.local(), kClaimsOffset);
  bool reported = false;
  for (int i = 0; i < kSwarmCells; ++i) {
    Cell& cell = cells_[static_cast<std::size_t>(i)];
    if (cell.closing) {
      FinishClosing(i, cell);
    } else if (cell.closed) {
      if (!SeatOf(i).ready) continue;
      Free(i, cell.use);  // its writer has come after all, and knows
      reported = true;
    } else if ((claims & BitOf(i)) == 0 || cell.folded || SeatOf(i).ready) {
      cell.claimed_since.reset();
    } else if (!cell.claimed_since) {
      cell.claimed_since = now;
    } else if (now - *cell.claimed_since >= claim_timeout_) {
      cell.closing = SwarmOperation::Fetch(access_.registers, rank_, SeatOffset(i), FetchOperation::kOr,
                                           SeatWord::kClosed, access_.waker);
    }
  }
  if (reported) Published();
}

// Writers begin at different cells, so that two that come at a time seldom want the same one.
SwarmAppend::SwarmAppend(const SwarmAccess& access, int writer, int partner, std::uint64_t claims, std::uint64_t number,
                         SharedBytes cell, const SwarmQueue& own)
    : access_(access), writer_(writer), partner_(partner), claims_(claims), bytes_(std::move(cell)), own_(own) {
  for (int i = 0; i < kSwarmCells && cell_ < 0; ++i) {
    if ((claims & BitOf((writer + i) % kSwarmCells)) == 0) cell_ = (writer + i) % kSwarmCells;
  }
  if (cell_ < 0) {
    EndWith(End::kFull);
    return;
  }
  SetWord(*bytes_, 0, static_cast<std::uint64_t>(writer) << 48 | (number & 0xffffffffffff));
  checksum_ = SwarmChecksum(0, std::span<const std::byte>(*bytes_).first(access.layout.checksum_in_cell()));
  SetWord(*bytes_, access.layout.checksum_in_cell(), checksum_);
  Fetch(Stage::kClaim, kClaimsOffset, FetchOperation::kOr, BitOf(cell_));
}

void SwarmAppend::Fetch(Stage stage, std::size_t offset, FetchOperation operation, std::uint64_t operand) {
  stage_ = stage;
  ++traffic_.operations;
  traffic_.sent_bytes += kWordBytes;
  traffic_.received_bytes += kWordBytes;
  operation_ = SwarmOperation::Fetch(access_.registers, partner_, offset, operation, operand, access_.waker);
}

void SwarmAppend::EndWith(End end) {
  end_ = end;
  stage_ = Stage::kEnded;
}

void SwarmAppend::TakeClaim(std::uint64_t before) {
  const bool ours = (before & BitOf(cell_)) == 0;
  if (ours && (before & ~claims_) == 0 && !own_.disturbed()) {
    stage_ = Stage::kWrite;
    ++traffic_.operations;
    traffic_.sent_bytes += static_cast<std::int64_t>(bytes_->size());
    operation_ =
        SwarmOperation::Put(access_.registers, partner_, access_.layout.CellOffset(cell_), bytes_, access_.waker);
  } else if (ours) {
    Fetch(Stage::kRelease, kClaimsOffset, FetchOperation::kAnd, ~BitOf(cell_));
  } else {
    EndWith(End::kConflict);
  }
}

bool SwarmAppend::Step() {
  while (stage_ != Stage::kEnded) {
    if (!operation_->ended()) return false;
    if (!operation_->status().ok()) {
      status_ = operation_->status();
      EndWith(End::kFailed);
      return true;
    }
    const std::uint64_t before = operation_->value();
    switch (stage_) {
      case Stage::kClaim:
        TakeClaim(before);
        break;
      case Stage::kRelease:
        EndWith(End::kConflict);
        break;
      case Stage::kWrite:
        Fetch(Stage::kReady, SeatOffset(cell_), FetchOperation::kOr, SeatWord::Ready(writer_, checksum_));
        break;
      case Stage::kReady:
        EndWith(SeatWord::From(before).closed ? End::kClosed : End::kAppended);
        break;
      case Stage::kEnded:
        break;
    }
  }
  return true;
}

}  // namespace weft
