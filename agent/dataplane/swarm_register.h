// A node's published model: how its owner writes it, and how another reads it together with the deltas that wait in the
// owner's queue (docs/format/swarm-registers.md).
//
// Why a reader sees one version of all: the state word names the version and, for each cell, the first use that is not
// in it; a cell is used again only after the next version. The slot that is read must then hold that version at both
// ends and match its checksum, and each cell must match the tag in its seat word; a seat word that is ahead of the
// state word, or anything that does not match, is torn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "agent/core/quantizer.h"
#include "agent/dataplane/swarm_layout.h"
#include "agent/dataplane/swarm_operation.h"
#include "agent/transport/registers.h"
#include "common/status.h"

namespace weft {

// What all exchanges of a node share. References outlive them.
struct SwarmAccess {
  Registers& registers;
  const SwarmLayout& layout;
  std::shared_ptr<SwarmWaker> waker;
};

// The owner's side. One thread calls.
class SwarmPublisher {
 public:
  SwarmPublisher(Registers& registers, const SwarmLayout& layout) : registers_(registers), layout_(layout) {}

  // Writes x as the next version, in which the cells' uses before `next_uses` are folded, and makes it the current one
  // by one store. INVALID_ARGUMENT: NaN or infinity in x; what was published stays.
  Status Publish(Quantizer& quantizer, std::span<const float> x, DitherKey key, std::span<const float> y_max,
                 std::uint32_t next_uses);

  std::uint32_t version() const { return version_; }

 private:
  Registers& registers_;
  const SwarmLayout& layout_;
  std::uint32_t version_ = 0;
  std::vector<std::byte> encoded_;
};

struct SwarmTraffic {
  std::int64_t operations = 0;
  std::int64_t sent_bytes = 0;      // put, and operands of 8 bytes
  std::int64_t received_bytes = 0;  // got, and fetched words
};

// Reads a partner's model. Messages: the header, the slot's head, one for each delta that waits; in a retry again. For
// blocks that do not decode by their low digits, one for each run of them and level, and one of 8 bytes in the end.
// One thread calls.
class SwarmRead {
 public:
  SwarmRead(const SwarmAccess& access, int partner);

  // Goes on as far as this is possible without waiting. True: it has ended; when status() is OK, `model` is the
  // partner's publication, decoded with `key`, and `distances` each block's max|model - key|. Until then they are
  // undefined.
  bool Step(Quantizer& quantizer, std::span<const float> key, std::span<float> model, std::span<float> distances);

  // Once it has ended. ABORTED: torn, also in the retries. FAILED_PRECONDITION: another node is appending to the
  // partner's queue, so that what would be read is about to change. UNAVAILABLE, CANCELLED: of the transport.
  // DATA_LOSS: what was read is whole, but no publication of this size and code.
  const Status& status() const { return status_; }
  // Adds the deltas that wait: `model` is then X_j. DATA_LOSS, as above.
  Status AddPending(Quantizer& quantizer, std::span<float> model) const;

  std::uint32_t version() const { return state_.version; }
  std::uint64_t claims() const { return claims_; }
  std::int64_t further_digit_blocks() const { return further_digit_blocks_; }
  std::int64_t raw_blocks() const { return raw_blocks_; }
  const SwarmTraffic& traffic() const { return traffic_; }
  std::int64_t torn() const { return torn_; }  // found so, before a retry or at last
  // Nothing is under way. A read that is given up asks its partner for nothing more.
  bool idle() const;

 private:
  enum class Stage { kHeader, kBody, kLevel, kCheck, kEnded };
  struct Cell {
    int index = 0;
    std::uint32_t tag = 0;
    SharedBytes bytes;
  };
  // Of failed blocks [first, end) of failed_, which follow each other in the register.
  struct Run {
    std::size_t first = 0;
    std::size_t end = 0;
    SharedBytes bytes;
  };

  SharedBytes Get(std::size_t offset, std::size_t size);
  void StartHeader();
  void TakeHeader();
  void StartBody();
  void TakeBody(Quantizer& quantizer, std::span<const float> key, std::span<float> model, std::span<float> distances);
  void StartLevel(Quantizer& quantizer);
  void TakeLevel(Quantizer& quantizer, std::span<const float> key, std::span<float> model, std::span<float> distances);
  void TakeCheck();
  void Torn(const char* what);
  void End(Status status);
  std::span<const std::byte> prefix() const;

  const SwarmAccess access_;
  const int partner_;
  Stage stage_ = Stage::kHeader;
  std::vector<SwarmOperation> operations_;  // under way
  Status status_;

  SharedBytes header_;
  StateWord state_;
  std::uint64_t claims_ = 0;
  SharedBytes head_;  // of the slot
  std::vector<Cell> cells_;
  std::vector<std::size_t> failed_;                          // blocks
  std::vector<std::vector<std::vector<std::byte>>> digits_;  // by failed block and level; level 0 is in the prefix
  int level_ = 0;
  std::vector<Run> runs_;

  std::int64_t further_digit_blocks_ = 0;
  std::int64_t raw_blocks_ = 0;
  std::int64_t torn_ = 0;
  SwarmTraffic traffic_;
};

}  // namespace weft
