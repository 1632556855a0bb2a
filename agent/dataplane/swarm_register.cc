#include "agent/dataplane/swarm_register.h"

#include <string>
#include <utility>

namespace weft {
namespace {

// Of a read that was torn. Each ends with the owner's next version or with a whole model.
constexpr std::int64_t kAttempts = 4;

}  // namespace

// The slot's first word changes before its contents and the second one after them; the state word comes last.
Status SwarmPublisher::Publish(Quantizer& quantizer, std::span<const float> x, DitherKey key,
                               std::span<const float> y_max, std::uint32_t next_uses) {
  encoded_.resize(quantizer.register_bytes());
  WEFT_RETURN_IF_ERROR(quantizer.EncodeRegister(x, key, y_max, encoded_));
  const std::uint32_t version = version_ + 1;
  const std::span<const std::byte> prefix = std::span<const std::byte>(encoded_).first(layout_.prefix_bytes());
  const std::span<std::byte> memory = registers_.local();
  const std::span<std::byte> slot = memory.subspan(layout_.SlotOffset(version));
  StoreWord(slot, 0, version);
  StoreWords(prefix, slot.subspan(kWordBytes, prefix.size()));
  StoreWords(std::span<const std::byte>(encoded_).subspan(prefix.size()),
             slot.subspan(layout_.rest_in_slot(), encoded_.size() - prefix.size()));
  StoreWord(slot, layout_.checksum_in_slot(), SwarmChecksum(version, prefix));
  StoreWord(slot, layout_.second_version_in_slot(), version);
  StoreWord(memory, kStateOffset, StateWord{.version = version, .next_uses = next_uses}.Word());
  version_ = version;
  return OkStatus();
}

SwarmRead::SwarmRead(const SwarmAccess& access, int partner) : access_(access), partner_(partner) { StartHeader(); }

bool SwarmRead::idle() const {
  for (const SwarmOperation& operation : operations_) {
    if (!operation.ended()) return false;
  }
  return true;
}

SharedBytes SwarmRead::Get(std::size_t offset, std::size_t size) {
  auto into = std::make_shared<std::vector<std::byte>>(size);
  operations_.push_back(SwarmOperation::Get(access_.registers, partner_, offset, into, access_.waker));
  ++traffic_.operations;
  traffic_.received_bytes += static_cast<std::int64_t>(size);
  return into;
}

bool SwarmRead::Step(Quantizer& quantizer, std::span<const float> key, std::span<float> model,
                     std::span<float> distances) {
  while (stage_ != Stage::kEnded) {
    if (!idle()) return false;
    for (const SwarmOperation& operation : operations_) {
      if (operation.status().ok()) continue;
      End(operation.status());
      return true;
    }
    operations_.clear();
    switch (stage_) {
      case Stage::kHeader:
        TakeHeader();
        break;
      case Stage::kBody:
        TakeBody(quantizer, key, model, distances);
        break;
      case Stage::kLevel:
        TakeLevel(quantizer, key, model, distances);
        break;
      case Stage::kCheck:
        TakeCheck();
        break;
      case Stage::kEnded:
        break;
    }
  }
  return true;
}

void SwarmRead::End(Status status) {
  status_ = std::move(status);
  stage_ = Stage::kEnded;
}

void SwarmRead::Torn(const char* what) {
  ++torn_;
  if (torn_ < kAttempts) {
    StartHeader();
  } else {
    End(AbortedError("rank " + std::to_string(partner_) + ": " + what + " changed while it was read, " +
                     std::to_string(torn_) + " times"));
  }
}

void SwarmRead::StartHeader() {
  stage_ = Stage::kHeader;
  cells_.clear();
  failed_.clear();
  header_ = Get(0, kHeaderBytes);
}

void SwarmRead::TakeHeader() {
  state_ = StateWord::From(WordAt(*header_, kStateOffset));
  claims_ = WordAt(*header_, kClaimsOffset);
  if (state_.version == 0) {
    Torn("a register without a model");
    return;
  }
  for (int cell = 0; cell < kSwarmCells; ++cell) {
    const SeatWord seat = SeatWord::From(WordAt(*header_, kSeatsOffset + static_cast<std::size_t>(cell) * kWordBytes));
    const int ahead = (seat.use - state_.next_use(cell)) & 15;
    if (ahead == 15) continue;  // folded into this version, and not free yet
    if (ahead != 0) {
      Torn("the queue");
      return;
    }
    if (seat.closed) continue;
    if (seat.ready) {
      cells_.push_back({.index = cell, .tag = seat.tag, .bytes = nullptr});
    } else if ((claims_ >> cell & 1) != 0) {
      End(FailedPreconditionError("rank " + std::to_string(partner_) + "'s queue is being written"));
      return;
    }
  }
  StartBody();
}

void SwarmRead::StartBody() {
  stage_ = Stage::kBody;
  head_ = Get(access_.layout.SlotOffset(state_.version), access_.layout.head_bytes());
  for (Cell& cell : cells_) cell.bytes = Get(access_.layout.CellOffset(cell.index), access_.layout.cell_bytes());
}

std::span<const std::byte> SwarmRead::prefix() const {
  return std::span<const std::byte>(*head_).subspan(kWordBytes, access_.layout.prefix_bytes());
}

void SwarmRead::TakeBody(Quantizer& quantizer, std::span<const float> key, std::span<float> model,
                         std::span<float> distances) {
  if (!access_.layout.HeadIsWhole(*head_, state_.version)) {
    Torn("the model");
    return;
  }
  for (const Cell& cell : cells_) {
    if (!access_.layout.CellIsWhole(*cell.bytes, cell.tag)) {
      Torn("a delta");
      return;
    }
  }
  if (Status status = quantizer.DecodeRegister(prefix(), key, model, &failed_, distances); !status.ok()) {
    End(status.WithContext("the model of rank " + std::to_string(partner_)));
    return;
  }
  if (failed_.empty()) {
    End(OkStatus());
    return;
  }
  further_digit_blocks_ += static_cast<std::int64_t>(failed_.size());
  digits_.assign(failed_.size(), std::vector<std::vector<std::byte>>(1));
  level_ = 1;
  StartLevel(quantizer);
}

// One read for each run of blocks whose bytes follow each other.
void SwarmRead::StartLevel(Quantizer& quantizer) {
  stage_ = Stage::kLevel;
  runs_.clear();
  for (std::size_t i = 0; i < failed_.size();) {
    ByteRange range = quantizer.LevelRange(failed_[i], level_);
    std::size_t end = i + 1;
    for (; end < failed_.size(); ++end) {
      const ByteRange next = quantizer.LevelRange(failed_[end], level_);
      if (next.offset != range.offset + range.size) break;
      range.size += next.size;
    }
    runs_.push_back(
        {.first = i, .end = end, .bytes = Get(access_.layout.RestOffset(state_.version, range), range.size)});
    i = end;
  }
}

void SwarmRead::TakeLevel(Quantizer& quantizer, std::span<const float> key, std::span<float> model,
                          std::span<float> distances) {
  std::vector<std::size_t> still_failed;
  std::vector<std::vector<std::vector<std::byte>>> still_digits;
  for (const Run& run : runs_) {
    std::size_t at = 0;
    for (std::size_t i = run.first; i < run.end; ++i) {
      const std::size_t size = quantizer.LevelRange(failed_[i], level_).size;
      const auto begin = run.bytes->begin() + static_cast<std::ptrdiff_t>(at);
      digits_[i].emplace_back(begin, begin + static_cast<std::ptrdiff_t>(size));
      at += size;
      const Result<bool> decoded =
          quantizer.DecodeBlock(prefix(), failed_[i], level_, digits_[i], key, model, &distances[failed_[i]]);
      if (!decoded.ok()) {
        End(decoded.status().WithContext("the model of rank " + std::to_string(partner_)));
        return;
      }
      if (*decoded) continue;
      still_failed.push_back(failed_[i]);
      still_digits.push_back(std::move(digits_[i]));
    }
  }
  failed_ = std::move(still_failed);
  digits_ = std::move(still_digits);
  if (failed_.empty()) {
    // No checksum covers these bytes: they are whole if the version is still the same.
    stage_ = Stage::kCheck;
    header_ = Get(kStateOffset, kWordBytes);
  } else if (level_ + 1 >= quantizer.levels()) {
    Torn("the model's further digits");
  } else {
    ++level_;
    if (level_ + 1 == quantizer.levels()) raw_blocks_ += static_cast<std::int64_t>(failed_.size());
    StartLevel(quantizer);
  }
}

void SwarmRead::TakeCheck() {
  if (StateWord::From(WordAt(*header_, kStateOffset)).version == state_.version) {
    End(OkStatus());
  } else {
    Torn("the model's further digits");
  }
}

Status SwarmRead::AddPending(Quantizer& quantizer, std::span<float> model) const {
  for (const Cell& cell : cells_) {
    if (Status status = quantizer.AddDelta(
            std::span<const std::byte>(*cell.bytes).subspan(kWordBytes, access_.layout.delta_bytes()), model);
        !status.ok()) {
      return status.WithContext("a delta for rank " + std::to_string(partner_));
    }
  }
  return OkStatus();
}

}  // namespace weft
